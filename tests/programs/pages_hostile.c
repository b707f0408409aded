// Places that are hard for lens `pages`: nearly all mappings used up, huge pages asked
// for, memory locked, a child that shares the memory. The argument names one; the
// output tells whether memory behaves as ever.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

#include "corpus.h"

enum { BLOCKS = 50000, BLOCK_BYTES = 120, PAGE = 4096, LARGE_BYTES = 16 << 20 };

static unsigned char* blocks[BLOCKS];
static unsigned char* large;

static double cpu_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void work(void) {
    double until_s = cpu_s() + 0.4;
    while (cpu_s() < until_s) {
    }
}

static void fill(void) {
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = memset(malloc(BLOCK_BYTES), i % 251, BLOCK_BYTES);
    }
    large = memset(malloc(LARGE_BYTES), 7, LARGE_BYTES);
}

static int count_damaged(void) {
    int damaged = 0;
    for (int i = 0; i < BLOCKS; i++) {
        damaged += blocks[i][0] != i % 251 || blocks[i][BLOCK_BYTES - 1] != i % 251;
    }
    for (int i = 0; i < LARGE_BYTES; i += PAGE) {
        damaged += large[i] != 7;
    }
    return damaged;
}

// Neighbours of different protection are mappings of their own.
static void use_up_mappings(void) {
    enum { SPARED = 24, MOST = 1 << 20 };
    static void* mapped[MOST];
    int count = 0;
    while (count < MOST) {
        int protection = count % 2 == 0 ? PROT_READ : PROT_READ | PROT_WRITE;
        void* page = mmap(NULL, PAGE, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED) {
            break;
        }
        mapped[count++] = page;
    }
    printf("mappings used up: %s\n", count < MOST ? strerror(errno) : "no");
    for (int i = 0; i < SPARED && i < count; i++) {
        munmap(mapped[--count], PAGE);
    }
    fill();
    work();
    printf("damaged %d\n", count_damaged());
    while (count > 0) {
        munmap(mapped[--count], PAGE);
    }
}

static void ask_for_huge_pages(void) {
    fill();
    printf("disable %d\n", prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0));
    char* start = (char*)(((unsigned long)large + PAGE - 1) / PAGE * PAGE);
    printf("huge %d\n", madvise(start, LARGE_BYTES / 2, MADV_HUGEPAGE));
    work();
}

static void lock_memory(void) {
    fill();
    printf("lock %d\n", mlock(large, LARGE_BYTES));
    work();
    printf("unlock %d\n", munlock(large, LARGE_BYTES));
    work();
}

int main(int count, char** arguments) {
    const char* what = count > 1 ? arguments[1] : "";
    if (strcmp(what, "mappings") == 0) {
        use_up_mappings();
    } else if (strcmp(what, "huge") == 0) {
        ask_for_huge_pages();
    } else if (strcmp(what, "locked") == 0) {
        lock_memory();
    } else {
        fill();
        work();
    }
    printf("damaged %d\n", count_damaged());
    KEEP(&blocks);
    return 0;
}
