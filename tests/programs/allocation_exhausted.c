// Runs out of memory under a limit that it sets itself, in small and in large blocks,
// frees everything, and has it all again.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { BLOCKS_MAX = 1 << 18, MIB = 1 << 20 };

static void* blocks[BLOCKS_MAX];

static size_t fill(size_t size) {
    size_t count = 0;
    errno = 0;
    while (count < BLOCKS_MAX && (blocks[count] = malloc(size)) != NULL) {
        count++;
    }
    printf("blocks of %zu: null %d, out of memory %d, enough %d\n", size,
           count < BLOCKS_MAX, errno == ENOMEM, count * size > 150 * (size_t)MIB);
    for (size_t i = 0; i < count; i++) {
        free(blocks[i]);
    }
    return count;
}

int main(void) {
    struct rlimit limit = {256 * (rlim_t)MIB, 256 * (rlim_t)MIB};
    setrlimit(RLIMIT_AS, &limit);
    fill(2000);
    fill(300000);
    fill(30000);
    fill(7 * MIB);
    fill(2000);
    return 0;
}
