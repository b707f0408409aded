// Usage: cost OUTPUT COMMAND ARGUMENTS... Runs the command and writes to OUTPUT its
// wait status, CPU microseconds and peak resident KiB, descendants included. A small
// process of its own, because a child inherits the peak of whoever starts it.
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static long long microseconds(struct timeval time) {
    return time.tv_sec * 1000000LL + time.tv_usec;
}

int main(int argc, char** argv) {
    if (argc < 3) {
        return 2;
    }
    pid_t child = fork();
    if (child == 0) {
        execvp(argv[2], argv + 2);
        _exit(127);
    }
    int status;
    struct rusage usage;
    if (wait4(child, &status, 0, &usage) != child) {
        return 2;
    }
    FILE* output = fopen(argv[1], "w");
    if (output == NULL) {
        return 2;
    }
    fprintf(output, "%d %lld %ld\n", status,
            microseconds(usage.ru_utime) + microseconds(usage.ru_stime),
            usage.ru_maxrss);
    return fclose(output) == 0 ? 0 : 2;
}
