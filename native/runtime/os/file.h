// Files by system call: no libc buffer, no lock, errno left alone. Results below zero
// are negative errnos; an interrupted call is made again.
#pragma once
#include <stddef.h>
#include <stdint.h>

// Paths below /proc work after a chroot too (os/proc.h).
int ll_file_open(const char* path, int flags);
void ll_file_close(int file);

long ll_file_read(int file, void* buffer, size_t size_bytes);
long ll_file_read_at(int file, void* buffer, size_t size_bytes, uint64_t offset);
long ll_file_write(int file, const void* data, size_t size_bytes);
