// A pool and a wrapper of the program's own: what they return belongs to their callers.
// own_allocator.models describes them to the checker and to runs.
#include "corpus.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static char store[4096];
static size_t taken;

// Carved out of one array: nothing in the source says that it must be given back.
char* pool_take(size_t size_bytes) {
    char* piece = store + taken;
    taken += size_bytes;
    return piece;
}

void pool_give(char* piece) {
    memset(piece, 0, 1);
}

void* checked_malloc(size_t size_bytes) {
    void* block = malloc(size_bytes);
    if (block == NULL) {
        abort();
    }
    return block;
}

void checked_free(void* block) {
    free(block);
}

CASE void given_back_ok(void) {
    char* piece = pool_take(16);
    piece[0] = 'x';
    pool_give(piece);
}

CASE void not_given_back_bad(void) {
    char* piece = pool_take(16);
    piece[0] = 'x';
}

CASE void freed_ok(void) {
    char* block = checked_malloc(24);
    block[0] = 'x';
    checked_free(block);
}

CASE void not_freed_bad(void) {
    char* block = checked_malloc(48);
    block[0] = 'x';
    KEEP(block);
}

int main(void) {
    given_back_ok();
    not_given_back_bad();
    freed_ok();
    not_freed_bad();
    return 0;
}
