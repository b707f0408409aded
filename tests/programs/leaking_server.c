// Says that it is ready, then loses a block every millisecond until it is ended.
#include <stdlib.h>
#include <unistd.h>

static void leak_in_loop(void) {
    char* volatile block = malloc(100);
    block = NULL;
    (void)block;
}

int main(void) {
    for (int i = 0; i < 10; i++) {
        leak_in_loop();
    }
    if (write(STDOUT_FILENO, "ready\n", 6) != 6) {
        return 1;
    }
    for (;;) {
        leak_in_loop();
        usleep(1000);
    }
}
