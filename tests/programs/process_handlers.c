// A timer's handler exits, allocates or forks while the program is anywhere in malloc,
// realloc or free.
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "corpus.h"

enum { SLOTS = 256, LEFT = 60, DONE = 42 };

static const char* mode;
static int left = LEFT;

static void count_down(void) {
    if (--left == 0) {
        _exit(DONE);
    }
}

static void fork_and_wait(void) {
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        if (left % 2 == 0) {
            free(malloc(100));
        }
        _exit(3);
    }
    while (waitpid(child, &status, 0) < 0) {
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 3) {
        _exit(1);
    }
}

static void on_alarm(int number) {
    (void)number;
    if (strcmp(mode, "exit") == 0) {
        _exit(DONE);
    }
    if (strcmp(mode, "allocate") == 0) {
        char* block = malloc(50 + (size_t)left);
        memset(block, left, 50);
        free(block);
    } else {
        fork_and_wait();
    }
    count_down();
}

static void allocate_for_ever(void) {
    char* slots[SLOTS] = {0};
    for (unsigned random = 1;;) {
        random = random * 1103515245 + 12345;
        unsigned slot = random >> 16 & (SLOTS - 1);
        size_t size = (random >> 8) % ((random & 255) == 0 ? 300000 : 600) + 1;
        if ((random & 31) == 0) {
            slots[slot] = realloc(slots[slot], size);
        } else {
            free(slots[slot]);
            slots[slot] = malloc(size);
        }
        slots[slot][size - 1] = 1;
    }
}

int main(int count, char** arguments) {
    (void)count;
    int interval_us = atoi(arguments[2]);
    struct sigaction action = {.sa_handler = on_alarm};
    struct itimerval timer = {{0, interval_us}, {0, interval_us}};
    mode = arguments[1];
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    allocate_for_ever();
}
