// Memory whose last users are known, for lens `pages` with the stacks of touches. Both
// arrays are idle for a while, used once by the function that is named after its own,
// and then no more: `used_by_code` reads one, `used_by_a_call` lets the kernel read the
// other. With the argument `blocked` the thread that uses them blocks every signal;
// with `waiting` it waits for a line of input first.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "corpus.h"

enum { BYTES = 64 << 12 };

static char* by_code;
static char* by_call;
static int blocks_signals;

static double cpu_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void work(double seconds) {
    double end_s = cpu_s() + seconds;
    while (cpu_s() < end_s) {
    }
}

CASE char* array_for_code(void) {
    return memset(malloc(BYTES), 1, BYTES);
}

CASE char* array_for_a_call(void) {
    return memset(malloc(BYTES), 1, BYTES);
}

CASE long used_by_code(void) {
    long sum = 0;
    for (int i = 0; i < BYTES; i += 512) {
        sum += by_code[i];
    }
    return sum;
}

CASE long used_by_a_call(void) {
    int ends[2];
    long sum = 0;
    if (pipe(ends) != 0) {
        return -1;
    }
    for (int i = 0; i < BYTES; i += 4096) {
        char back[100];
        sum += write(ends[1], by_call + i, sizeof back);
        sum += read(ends[0], back, sizeof back);
    }
    close(ends[0]);
    close(ends[1]);
    return sum;
}

static void* use_once(void* unused) {
    sigset_t all;
    sigfillset(&all);
    if (blocks_signals) {
        syscall(14, SIG_BLOCK, &all, NULL, 8); // rt_sigprocmask, unseen by anybody
    }
    printf("%ld by code, %ld by calls\n", used_by_code(), used_by_a_call());
    return unused;
}

int main(int count, char** arguments) {
    pthread_t thread;
    blocks_signals = count > 1 && strcmp(arguments[1], "blocked") == 0;
    by_code = array_for_code();
    by_call = array_for_a_call();
    KEEP(&by_code);
    KEEP(&by_call);
    work(0.5);
    if (count > 1 && strcmp(arguments[1], "waiting") == 0) {
        (void)getchar();
    }
    pthread_create(&thread, NULL, use_once, NULL);
    pthread_join(thread, NULL);
    work(0.5);
    return 0;
}
