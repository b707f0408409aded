// Buffers that no instruction of the program touches, but the kernel does for it, and
// one that nobody touches.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "corpus.h"

enum { SIZE = 4096 };

static char* read_into;
static char* gathered;
static char* idle;

CASE void read_into_by_the_kernel_ok(void) {
    read_into = malloc(SIZE);
}

CASE void gathered_by_the_kernel_ok(void) {
    gathered = malloc(SIZE);
}

CASE void read_once_stale(int zeros) {
    idle = malloc(SIZE);
    KEEP(&idle);
    if (read(zeros, idle, SIZE) != SIZE) {
        abort();
    }
}

static long cpu_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int main(void) {
    int zeros = open("/dev/zero", O_RDONLY);
    int nowhere = open("/dev/null", O_WRONLY);
    read_into_by_the_kernel_ok();
    gathered_by_the_kernel_ok();
    read_once_stale(zeros);
    volatile unsigned long work = 0;
    while (cpu_ms() < 900) {
        for (int i = 0; i < 100000; i++) {
            work += (unsigned long)i;
        }
        struct iovec parts[] = {{"a", 1}, {gathered, SIZE}};
        if (read(zeros, read_into, SIZE) != SIZE || writev(nowhere, parts, 2) < 0) {
            abort();
        }
    }
    fflush(stdout);
    _Exit(0);
}
