// A heap of the given size of which one part in twenty is used, for lens `pages`. Work
// is a fixed number of steps, each of which changes one block in use and computes for
// about as long. Prints the processor time of the work in microseconds.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BLOCK_BYTES = 1000, USED_SHARE = 20, ROUNDS = 150 };

static uint64_t cpu_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static uint64_t next(uint64_t* state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static uint64_t work(uint64_t** blocks, size_t in_use, size_t steps) {
    uint64_t state = 88172645463325252U;
    uint64_t sum = 0;
    for (size_t step = 0; step < steps; step++) {
        uint64_t* block = blocks[next(&state) % in_use];
        for (int i = 0; i < ROUNDS; i++) {
            sum = sum * 31 + block[i % 8];
        }
        block[step % 8] = sum;
    }
    return sum;
}

int main(int count, char** arguments) {
    if (count < 3) {
        return 2;
    }
    size_t blocks_made = strtoull(arguments[1], NULL, 10) * 1000000 / BLOCK_BYTES;
    size_t steps = strtoull(arguments[2], NULL, 10);
    uint64_t** blocks = malloc(blocks_made * sizeof *blocks);
    for (size_t i = 0; i < blocks_made; i++) {
        blocks[i] = malloc(BLOCK_BYTES);
        memset(blocks[i], 1, BLOCK_BYTES);
    }
    uint64_t began_us = cpu_us();
    uint64_t sum = work(blocks, blocks_made / USED_SHARE, steps);
    printf("%llu\n", (unsigned long long)(cpu_us() - began_us));
    return sum == 0;
}
