// Starts children in every way, by name, and prints how each ended.
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "corpus.h"

static char* kept;

CASE void lose_before_fork_bad(void) {
    char* block = malloc(401);
    KEEP(block);
}

CASE void lose_in_child_bad(void) {
    char* block = malloc(402);
    KEEP(block);
}

CASE void keep_before_fork_ok(void) {
    kept = malloc(403);
    KEEP(&kept);
}

static void print_status(const char* way, int status) {
    printf("%s %x\n", way, (unsigned)status);
    fflush(stdout);
}

static void wait_for(const char* way, pid_t child) {
    int status = -1;
    waitpid(child, &status, 0);
    print_status(way, status);
}

static void fork_and_lose(void) {
    pid_t child = fork();
    if (child == 0) {
        lose_in_child_bad();
        scrub();
        _exit(9);
    }
    wait_for("fork", child);
}

static void fork_and_exit(void) {
    pid_t child = fork();
    if (child == 0) {
        exit(10);
    }
    wait_for("fork exit", child);
}

static void fork_and_die(void) {
    pid_t child = fork();
    if (child == 0) {
        raise(SIGTERM);
    }
    wait_for("fork signal", child);
}

static void fork_and_exec(void) {
    pid_t child = fork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", "exit 11", (char*)NULL);
    }
    wait_for("fork exec", child);
}

static void vfork_and_exec(void) {
    pid_t child = vfork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", "exit 12", (char*)NULL);
        _exit(1);
    }
    wait_for("vfork exec", child);
}

static void vfork_and_exit(void) {
    pid_t child = vfork();
    if (child == 0) {
        _exit(13);
    }
    wait_for("vfork exit", child);
}

static void vfork_and_fail(void) {
    pid_t child = vfork();
    if (child == 0) {
        execl("/nonexistent", "nonexistent", (char*)NULL);
        _exit(14);
    }
    wait_for("vfork failed", child);
}

static void spawn(void) {
    pid_t child = 0;
    char* arguments[] = {"sh", "-c", "exit 15", NULL};
    int error = posix_spawn(&child, "/bin/sh", NULL, NULL, arguments, environ);
    printf("spawn error %d\n", error);
    wait_for("spawn", child);
    error = posix_spawnp(NULL, "nonexistent-program", NULL, NULL, arguments, environ);
    printf("spawn error %d\n", error);
}

static void use_shell(void) {
    char line[64] = "";
    print_status("system", system("exit 16"));
    FILE* pipe = popen("echo from the pipe; exit 17", "r");
    if (fgets(line, sizeof line, pipe) != NULL) {
        fputs(line, stdout);
    }
    print_status("popen", pclose(pipe));
}

static int clone_main(void* unused) {
    (void)unused;
    _exit(18);
}

static void clone_by_hand(void) {
    static char stack[65536];
    pid_t child = clone(clone_main, stack + sizeof stack, SIGCHLD, NULL);
    wait_for("clone", child);
    child = (pid_t)syscall(SYS_fork);
    if (child == 0) {
        _exit(19);
    }
    wait_for("raw fork", child);
}

static void* fork_from_thread(void* unused) {
    fork_and_lose();
    return unused;
}

static void fork_in_thread(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, fork_from_thread, NULL);
    pthread_join(thread, NULL);
}

// A child that forks again and leaves its child alone, as daemons do.
static void fork_twice(void) {
    int ends[2];
    char byte;
    if (pipe(ends) != 0) {
        return;
    }
    pid_t child = fork();
    if (child == 0) {
        if (fork() == 0) {
            close(ends[0]);
            lose_in_child_bad();
            _exit(0);
        }
        _exit(20);
    }
    close(ends[1]);
    wait_for("fork twice", child);
    printf("%zd\n", read(ends[0], &byte, 1));
    close(ends[0]);
}

int main(int count, char** arguments) {
    static const struct {
        const char* name;
        void (*start)(void);
    } ways[] = {
        {"fork", fork_and_lose},        {"fork-exit", fork_and_exit},
        {"fork-signal", fork_and_die},  {"fork-exec", fork_and_exec},
        {"vfork-exec", vfork_and_exec}, {"vfork-exit", vfork_and_exit},
        {"vfork-fail", vfork_and_fail}, {"spawn", spawn},
        {"shell", use_shell},           {"clone", clone_by_hand},
        {"thread", fork_in_thread},     {"twice", fork_twice},
    };
    keep_before_fork_ok();
    lose_before_fork_bad();
    scrub();
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        if (count < 2 || strcmp(arguments[1], ways[i].name) == 0) {
            ways[i].start();
        }
    }
    return 0;
}
