// Writes the process's part of the recording (format/recording.md). One writer at a
// time: callers hold the look lock. Nothing here uses the heap or libc's stdio, or
// changes errno.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Where to write; copied. Remembers who this process is. False when `path` is empty or
// too long.
bool ll_recording_start(const char* path);

// A forked child is a process of its own from here on.
void ll_recording_fork_child(void);

// A copy forked only to look at the heap of a process that goes on: it writes under
// that process's identity, with chunks numbered on their own.
void ll_recording_copy(void);

// Changes whenever this process starts to write as another one. What it wrote before
// then has to be written again.
uint64_t ll_recording_identity(void);

// Appends one record to the current chunk; a full chunk is written out. Text that no
// chunk can hold is cut.
void ll_record(uint32_t tag, const void* fields, size_t fields_length, const void* text,
               size_t text_length);

// Writes the current chunk with one append. False when it could not be written: the
// recording then lacks it, and the target is left alone.
bool ll_recording_flush(void);

// Holds a descriptor open for a process that is about to lose the right to open the
// file (setuid, chroot).
void ll_recording_keep_open(void);

// The descriptor held open, -1 if none.
int ll_recording_kept_descriptor(void);
