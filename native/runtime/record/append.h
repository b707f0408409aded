// Appends to the recording's file without leaving a trace in the process: the
// descriptor lives for one append only, no signal is raised by a limit on file size,
// and a file that is not a recording of ours is never touched.
#pragma once
#include <stdbool.h>
#include <stddef.h>

// Appends `data` with one write. False when the file is none of ours, or not all could
// be written.
bool ll_append(const char* path, const void* data, size_t size_bytes);

// Opens the file for later appends, at a descriptor number the program is unlikely to
// use; harmless when the program closes it or puts a file of its own there.
void ll_append_keep_open(const char* path);
int ll_append_kept_descriptor(void);
