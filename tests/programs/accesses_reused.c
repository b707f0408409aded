// Blocks at places where others were used and freed before. Those of functions that end
// in `_stale` are not used themselves, whatever happened there before them.
#include <stdio.h>
#include <time.h>

#include "corpus.h"

enum { BLOCKS = 40, LARGE_BYTES = 300000 };

static void* kept[BLOCKS];
static void* zeroed[BLOCKS];
static void* moved[BLOCKS];
static void* large;
static char* used_again[BLOCKS];

// Every place of this size has been used by the time its block is freed.
static void use_and_free(size_t size_bytes) {
    char* blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(size_bytes);
        for (size_t at = 0; at < size_bytes; at += 8) {
            ((volatile char*)blocks[i])[at] = 1;
        }
    }
    for (int i = 0; i < BLOCKS; i++) {
        free(blocks[i]);
    }
}

CASE void allocated_where_others_were_used_stale(void) {
    use_and_free(100);
    for (int i = 0; i < BLOCKS; i++) {
        kept[i] = malloc(100);
    }
}

CASE void zeroed_where_others_were_used_stale(void) {
    use_and_free(200);
    for (int i = 0; i < BLOCKS; i++) {
        zeroed[i] = calloc(1, 200);
    }
}

CASE void moved_where_others_were_used_stale(void) {
    use_and_free(400);
    for (int i = 0; i < BLOCKS; i++) {
        moved[i] = realloc(malloc(20), 400);
    }
}

CASE void large_where_another_was_used_stale(void) {
    use_and_free(LARGE_BYTES);
    large = malloc(LARGE_BYTES);
}

CASE void used_where_others_were_used_ok(void) {
    use_and_free(800);
    for (int i = 0; i < BLOCKS; i++) {
        used_again[i] = malloc(800);
        ((volatile char*)used_again[i])[17] = 1;
    }
}

static long cpu_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int main(int count, char** arguments) {
    long end_ms = count > 1 ? atol(arguments[1]) : 600;
    allocated_where_others_were_used_stale();
    zeroed_where_others_were_used_stale();
    moved_where_others_were_used_stale();
    large_where_another_was_used_stale();
    used_where_others_were_used_ok();
    KEEP(&kept);
    KEEP(&zeroed);
    KEEP(&moved);
    KEEP(&large);
    KEEP(&used_again);
    while (cpu_ms() < end_ms) {
    }
    puts("waited");
    fflush(stdout);
    _Exit(0);
}
