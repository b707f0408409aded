// Counts SIGINT for half a second after the first one and prints the number.
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t interrupts;

static void count(int number) {
    (void)number;
    interrupts++;
}

int main(void) {
    signal(SIGINT, count);
    puts("ready");
    fflush(stdout);
    while (interrupts == 0) {
        usleep(10000);
    }
    for (int i = 0; i < 50; i++) {
        usleep(10000);
    }
    printf("interrupts: %d\nend\n", (int)interrupts);
    return 0;
}
