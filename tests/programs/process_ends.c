// Every way a process can end, by name: the report must come, and the end must stay
// what it was. The block is lost before the end.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "corpus.h"

CASE void lose_block_bad(void) {
    char* block = malloc(321);
    KEEP(block);
    block = NULL;
    KEEP(&block);
}

static void at_exit_handler(void) {
    puts("exit handler");
}

static void exit_in_handler(int number) {
    (void)number;
    _exit(31);
}

static void exit_after_output(void) {
    fputs("unflushed", stdout);
    exit(4);
}

static void end_by_pipe(void) {
    int ends[2];
    if (pipe(ends) == 0 && close(ends[0]) == 0 && write(ends[1], "x", 1) < 0) {
        puts("write failed");
    }
}

static void end_by_bus_error(void) {
    FILE* file = tmpfile();
    volatile char* page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fileno(file), 0);
    putchar(*page);
}

static int overflow_stack(volatile int depth) {
    volatile char frame[65536];
    frame[0] = (char)depth;
    return depth == 0 ? 0 : overflow_stack(depth + 1) + frame[0];
}

static void end_by_alarm(void) {
    alarm(1);
    for (;;) {
        pause();
    }
}

// The signal is blocked except while the process waits for it.
static void end_in_sigsuspend(void) {
    sigset_t set;
    sigset_t nothing;
    sigemptyset(&nothing);
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    kill(getpid(), SIGTERM);
    sigsuspend(&nothing);
    puts("still alive");
}

static void end_by_processor_limit(void) {
    struct rlimit limit = {1, 10};
    setrlimit(RLIMIT_CPU, &limit);
    for (;;) {
    }
}

static void end_by_file_limit(void) {
    struct rlimit limit = {1 << 20, 1 << 20};
    static char data[1 << 16];
    FILE* file = tmpfile();
    setrlimit(RLIMIT_FSIZE, &limit);
    for (int i = 0; i < 100; i++) {
        fwrite(data, 1, sizeof data, file);
    }
}

static void* exit_from_thread(void* unused) {
    (void)unused;
    exit(12);
}

static void* abort_from_thread(void* unused) {
    (void)unused;
    abort();
}

static void* return_late(void* unused) {
    usleep(50000);
    puts("thread ends");
    return unused;
}

static void start_and_wait(void* (*routine)(void*)) {
    pthread_t thread;
    pthread_create(&thread, NULL, routine, NULL);
    pthread_join(thread, NULL);
}

// The stack of the main thread stays a root after it has ended.
static void main_thread_ends_first(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, return_late, NULL);
    pthread_exit(NULL);
}

static void fail_to_exec(void) {
    execl("/nonexistent/program", "program", (char*)NULL);
    printf("errno %d\n", errno);
    execlp("nonexistent-program", "program", (char*)NULL);
    printf("errno %d\n", errno);
}

static void end(const char* way) {
    if (strcmp(way, "exit") == 0) {
        atexit(at_exit_handler);
        exit_after_output();
    } else if (strcmp(way, "_exit") == 0) {
        fputs("lost output", stdout);
        _exit(5);
    } else if (strcmp(way, "_Exit") == 0) {
        _Exit(6);
    } else if (strcmp(way, "quick_exit") == 0) {
        at_quick_exit(at_exit_handler);
        setvbuf(stdout, NULL, _IONBF, 0);
        quick_exit(7);
    } else if (strcmp(way, "abort") == 0) {
        abort();
    } else if (strcmp(way, "null") == 0) {
        *(volatile int*)NULL = 1;
    } else if (strcmp(way, "division") == 0) {
        volatile int one = 1;
        volatile int zero = 0;
        printf("%d\n", one / zero);
    } else if (strcmp(way, "illegal") == 0) {
        __asm__ volatile("ud2");
    } else if (strcmp(way, "trap") == 0) {
        __asm__ volatile("int3");
    } else if (strcmp(way, "pipe") == 0) {
        end_by_pipe();
    } else if (strcmp(way, "bus") == 0) {
        end_by_bus_error();
    } else if (strcmp(way, "overflow") == 0) {
        exit(overflow_stack(1));
    } else if (strcmp(way, "alarm") == 0) {
        end_by_alarm();
    } else if (strcmp(way, "sigsuspend") == 0) {
        end_in_sigsuspend();
    } else if (strcmp(way, "cpu") == 0) {
        end_by_processor_limit();
    } else if (strcmp(way, "fsize") == 0) {
        end_by_file_limit();
    } else if (strcmp(way, "handler") == 0) {
        signal(SIGTERM, exit_in_handler);
        raise(SIGTERM);
    } else if (strcmp(way, "thread-exit") == 0) {
        start_and_wait(exit_from_thread);
    } else if (strcmp(way, "thread-abort") == 0) {
        start_and_wait(abort_from_thread);
    } else if (strcmp(way, "main-ends-first") == 0) {
        main_thread_ends_first();
    } else if (strcmp(way, "exec") == 0) {
        execlp("printf", "printf", "%s\\n", "executed", (char*)NULL);
    } else if (strcmp(way, "exec-fails") == 0) {
        fail_to_exec();
    } else if (way[0] >= '0' && way[0] <= '9') {
        raise(atoi(way));
    }
}

int main(int count, char** arguments) {
    (void)count;
    puts("begins");
    fflush(stdout);
    lose_block_bad();
    scrub();
    end(arguments[1]);
    puts("returns");
    return 3;
}
