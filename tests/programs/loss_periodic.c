// Loses a block and moves another to and fro, then is killed without a last look.
#include <signal.h>
#include <unistd.h>

#include "corpus.h"

static char* volatile slot;
static char* volatile other;

CASE char* overwritten_bad(void) {
    return malloc(600);
}

CASE char* moved_about_ok(void) {
    return malloc(601);
}

// For a moment only a register holds the block: that is no loss.
CASE void move_about(void) {
    char* held = other;
    other = NULL;
    __asm__ volatile("" : "+r"(held));
    other = held;
}

CASE void lose(void) {
    slot = overwritten_bad();
    scrub();
    slot = NULL; // loss(overwritten_bad): overwritten
}

int main(void) {
    other = moved_about_ok();
    lose();
    scrub();
    for (int i = 0; i < 2000; i++) {
        move_about();
        usleep(1000);
    }
    raise(SIGKILL);
    return 0;
}
