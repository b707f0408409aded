// A heap that is mostly free but has a block left on every page: what virtual
// compaction is for. The blocks are checked at the end, and by a forked child; threads
// allocate and free meanwhile. The argument tells what else happens: "fork", or "aio".
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "corpus.h"

enum { BLOCKS = 120000, KEPT_OF = 16, BLOCK_BYTES = 88, THREADS = 3 };

static unsigned char* blocks[BLOCKS];
static int should_stop;

static unsigned char content_of(int i) {
    return (unsigned char)(i * 31 + i / 255 + 1);
}

CASE unsigned char* sparse_kept(int i) {
    return memset(malloc(BLOCK_BYTES), content_of(i), BLOCK_BYTES);
}

static int count_damaged(void) {
    int damaged = 0;
    for (int i = 0; i < BLOCKS; i++) {
        for (int at = 0; blocks[i] != NULL && at < BLOCK_BYTES; at++) {
            damaged += blocks[i][at] != content_of(i);
        }
    }
    return damaged;
}

static double cpu_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void* allocate_and_free(void* unused) {
    unsigned char* own[256] = {0};
    for (int i = 0; !__atomic_load_n(&should_stop, __ATOMIC_RELAXED); i++) {
        unsigned char** place = &own[i * 7 % 256];
        free(*place);
        *place = sparse_kept(i);
        usleep(100);
    }
    for (int i = 0; i < 256; i++) {
        free(own[i]);
    }
    return unused;
}

// Merged pages are mapped one by one.
static int count_heap_mappings(void) {
    char line[512];
    int found = 0;
    FILE* maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps) != NULL) {
        found += strstr(line, "leakline-heap") != NULL;
    }
    fclose(maps);
    return found;
}

// Works until pages were merged; not at all where nobody would.
static void work(void) {
    enum { MANY = 60, PATIENCE_S = 40 };
    double limit_s = cpu_s() + (getenv("LD_PRELOAD") != NULL ? PATIENCE_S : 0);
    while (cpu_s() < limit_s && count_heap_mappings() < MANY) {
        for (volatile int i = 0; i < 20000000; i++) {
        }
    }
}

static void fork_and_check(void) {
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        int damaged = count_damaged();
        for (int i = 0; i < BLOCKS; i++) {
            if (blocks[i] != NULL) {
                memset(blocks[i], 0, BLOCK_BYTES);
            }
        }
        _exit(damaged != 0);
    }
    waitpid(child, &status, 0);
    printf("child %d\n", status);
}

int main(int count, char** arguments) {
    const char* what = count > 1 ? arguments[1] : "";
    pthread_t threads[THREADS];
    unsigned long io = 0;
    if (strcmp(what, "aio") == 0) {
        printf("io_setup %ld\n", syscall(SYS_io_setup, 8, &io));
    }
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = sparse_kept(i);
    }
    for (int i = 0; i < BLOCKS; i++) {
        if (i % KEPT_OF != i / KEPT_OF % KEPT_OF) {
            free(blocks[i]);
            blocks[i] = NULL;
        }
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, allocate_and_free, NULL);
    }
    work();
    if (strcmp(what, "fork") == 0) {
        fork_and_check();
        work();
    }
    __atomic_store_n(&should_stop, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    printf("damaged %d\n", count_damaged());
    KEEP(&blocks);
    return 0;
}
