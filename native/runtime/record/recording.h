// Writes the process's part of the recording (format/recording.md). One writer at a
// time: callers hold the look lock. Nothing here uses the heap or libc's stdio.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Where to write; copied. Remembers who this process is. False when `path` is empty.
bool ll_recording_start(const char* path);

// A forked child is a process of its own from here on.
void ll_recording_fork_child(void);

// Appends one record to the current chunk; a full chunk is written out.
void ll_record(uint32_t tag, const void* fields, size_t fields_length, const void* text,
               size_t text_length);

// Writes the current chunk with one append. False when it could not be written: the
// recording then lacks it, and the target is left alone.
bool ll_recording_flush(void);

// Holds a descriptor open for a process that is about to lose the right to open the
// file (setuid, chroot).
void ll_recording_keep_open(void);
