// What a program may rely on that lens `pages` could break: memory is not shared with
// forked children, however they are forked, and advice about memory does what it does
// to ordinary memory. Prints what it sees; the argument says what to do.
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "corpus.h"

enum { BLOCKS = 5000, BLOCK_BYTES = 120, LARGE_BYTES = 1 << 20, STACK_BYTES = 1 << 16 };

static char* blocks[BLOCKS];
static char* large;

static void fill(char value) {
    for (int i = 0; i < BLOCKS; i++) {
        memset(blocks[i], value, BLOCK_BYTES);
    }
    memset(large, value, LARGE_BYTES);
}

static bool holds(char value) {
    for (int i = 0; i < BLOCKS; i++) {
        if (blocks[i][0] != value || blocks[i][BLOCK_BYTES - 1] != value) {
            return false;
        }
    }
    return large[0] == value && large[LARGE_BYTES - 1] == value;
}

static bool has_worked_for(long ms) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000 >= ms;
}

// Long enough that pages are watched.
static void work(void) {
    volatile long sum = 0;
    while (!has_worked_for(150)) {
        for (int i = 0; i < 100000; i++) {
            sum += i;
        }
    }
}

// The child's exit status: 0 when its memory is its own from the first moment on.
static int be_child(void* unused) {
    (void)unused;
    bool inherited = holds('a');
    char* own = malloc(10);
    KEEP(&own);
    fill('c');
    usleep(30000);
    bool kept = holds('c');
    _exit(inherited && kept ? 0 : 1);
}

static pid_t fork_by(const char* way) {
    static _Alignas(16) char stack[STACK_BYTES];
    if (strcmp(way, "fork") == 0) {
        return fork();
    }
    if (strcmp(way, "_Fork") == 0) {
        return _Fork();
    }
    if (strcmp(way, "clone") == 0) {
        return clone(be_child, stack + STACK_BYTES, SIGCHLD, NULL);
    }
    if (strcmp(way, "syscall-fork") == 0) {
        return (pid_t)syscall(SYS_fork);
    }
    return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static void fork_once(const char* way) {
    int status = -1;
    fill('a');
    work();
    fflush(stdout);
    pid_t child = fork_by(way);
    if (child == 0) {
        be_child(NULL);
    }
    fill('p');
    waitpid(child, &status, 0);
    printf("%s: child %d, parent %s\n", way, status, holds('p') ? "kept" : "lost");
}

static bool may_stop;

static void* allocate_and_free(void* unused) {
    while (!__atomic_load_n(&may_stop, __ATOMIC_RELAXED)) {
        for (int i = 1; i < 500; i++) {
            char* block = malloc((size_t)i);
            memset(block, i, (size_t)i);
            free(block);
        }
        usleep(100);
    }
    return unused;
}

static void fork_among_threads(int count) {
    enum { MOST = 120 };
    pthread_t threads[MOST];
    for (int i = 0; i < count; i++) {
        pthread_create(&threads[i], NULL, allocate_and_free, NULL);
    }
    for (int i = 0; i < 3; i++) {
        fork_once("fork");
    }
    __atomic_store_n(&may_stop, true, __ATOMIC_RELAXED);
    for (int i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
    }
}

static void advise(void) {
    char* pages = aligned_alloc(4096, LARGE_BYTES);
    memset(pages, 'x', LARGE_BYTES);
    int result = madvise(pages, LARGE_BYTES / 2, MADV_DONTNEED);
    printf("dontneed %d: %d %d\n", result, pages[100], pages[LARGE_BYTES / 2]);
    memset(pages, 'y', LARGE_BYTES);
    result = madvise(pages, 4096, MADV_DONTNEED);
    printf("one page %d: %d %d\n", result, pages[4095], pages[4096]);
    printf("huge %d\n", madvise(pages, LARGE_BYTES, MADV_HUGEPAGE));
    printf("bad %d\n", madvise(pages, 4096, 12345));
    printf("locked %d\n", mlock(pages, 8192));
    memset(pages, 'z', LARGE_BYTES);
    work();
    printf("%c%c\n", pages[0], pages[LARGE_BYTES - 1]);
    free(pages);
}

// Reads one page in sixteen, again and again, after the heap was mapped anew for a
// fork.
static void use_few_pages_after_a_fork(void) {
    enum { SPARSE_BYTES = 16 << 20, STEP = 16 * 4096 };
    volatile char* sparse = memset(malloc(SPARSE_BYTES), 1, SPARSE_BYTES);
    volatile int sum = 0;
    puts("sparse"); // so that its buffer is there and the heap need not grow
    while (!has_worked_for(300)) {
        sum += sparse[0];
    }
    fork_once("fork");
    while (!has_worked_for(900)) {
        for (int i = 0; i < SPARSE_BYTES; i += STEP) {
            sum += sparse[i];
        }
    }
    KEEP(&sparse);
}

// As debuggers do: there is one child, and no other of any kind.
static void wait_for_children_of_every_kind(void) {
    int count = 0;
    if (fork() == 0) {
        _exit(0);
    }
    while (waitpid(-1, NULL, __WALL) > 0) {
        count++;
    }
    printf("%d children, %s\n", count, strerror(errno));
}

static void set_up_asynchronous_io(void) {
    unsigned long context = 0;
    printf("io_setup %ld\n", syscall(SYS_io_setup, 8, &context));
    fill('a');
    work();
}

int main(int count, char** arguments) {
    const char* what = count > 1 ? arguments[1] : "fork";
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(BLOCK_BYTES);
    }
    large = malloc(LARGE_BYTES);
    if (strcmp(what, "advise") == 0) {
        advise();
    } else if (strcmp(what, "aio") == 0) {
        set_up_asynchronous_io();
    } else if (strcmp(what, "wait") == 0) {
        wait_for_children_of_every_kind();
    } else if (strcmp(what, "sparse") == 0) {
        use_few_pages_after_a_fork();
    } else if (strcmp(what, "threads") == 0) {
        fork_among_threads(4);
    } else if (strcmp(what, "crowd") == 0) {
        fork_among_threads(120);
    } else {
        fork_once(what);
        fork_once(what);
    }
    KEEP(&blocks);
    return 0;
}
