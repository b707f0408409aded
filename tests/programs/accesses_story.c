// The whole life of a lost block: allocated, stored, used, and lost.
#include <stdlib.h>
#include <string.h>

#include "corpus.h"

struct message {
    char text[40];
};

static struct message* pending;

__attribute__((noipa)) static void keep(struct message* message) {
    pending = message;
}

__attribute__((noipa)) static int length_of(const struct message* message) {
    int length = 0;
    while (message->text[length] != 0) {
        length++;
    }
    return length;
}

CASE void message_of_the_past_bad(void) {
    struct message* message = calloc(1, sizeof *message);
    KEEP(message);
    keep(message);
    int length = length_of(message);
    KEEP(&length);
    scrub();
    keep(NULL);
}

int main(void) {
    message_of_the_past_bad();
    scrub();
    KEEP(&pending);
    return 0;
}
