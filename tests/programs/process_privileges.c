// Gives up the right to open the recording, by name of the way, and loses a block
// afterwards.
#include <grp.h>
#include <stdio.h>
#include <unistd.h>

#include "corpus.h"

enum { NOBODY = 65534 };

CASE void lose_block_bad(void) {
    char* block = malloc(611);
    KEEP(block);
}

static int give_up(const char* way) {
    if (strcmp(way, "setuid") == 0) {
        return setgid(NOBODY) | setuid(NOBODY);
    }
    if (strcmp(way, "seteuid") == 0) {
        return setegid(NOBODY) | seteuid(NOBODY);
    }
    if (strcmp(way, "setresuid") == 0) {
        return setresgid(NOBODY, NOBODY, NOBODY) | setresuid(NOBODY, NOBODY, NOBODY);
    }
    return chroot("/proc/self/fdinfo") | chdir("/");
}

int main(int count, char** arguments) {
    (void)count;
    printf("%d\n", give_up(arguments[1]));
    printf("%d\n", dup(1));
    fflush(stdout);
    lose_block_bad();
    scrub();
    return 0;
}
