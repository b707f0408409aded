// Every function of the malloc family, lost and kept, with its promises on alignment
// and contents.
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <unistd.h>
#include <wchar.h>

#include "corpus.h"

static void* kept[32];
static int used;

static void require(int condition, const char* what) {
    if (!condition) {
        fprintf(stderr, "broken promise: %s\n", what);
        exit(2);
    }
}

static void* aligned(void* block, size_t alignment) {
    require(block != NULL && (uintptr_t)block % alignment == 0, "alignment");
    return block;
}

static void* zeroed(void* block, size_t size_bytes) {
    for (size_t i = 0; i < size_bytes; i++) {
        require(((char*)block)[i] == 0, "calloc clears");
    }
    return block;
}

CASE void all_functions_ok(void) {
    void* block;
    require(posix_memalign(&block, 64, 100) == 0, "posix_memalign");
    kept[used++] = aligned(block, 64);
    require(posix_memalign(&block, 3, 100) == EINVAL, "posix_memalign refuses 3");
    kept[used++] = aligned(aligned_alloc(256, 512), 256);
    kept[used++] = aligned(memalign(8192, 10), 8192);
    kept[used++] = aligned(memalign(1 << 21, 10), 1 << 21);
    kept[used++] = aligned(valloc(10), (size_t)getpagesize());
    kept[used++] = aligned(pvalloc(10), (size_t)getpagesize());
    kept[used++] = zeroed(calloc(1000, 7), 7000);
    kept[used++] = zeroed(calloc(1, 10 << 20), 10 << 20);
    kept[used++] = reallocarray(NULL, 10, 10);
    kept[used++] = strdup("kept");
    kept[used++] = wcsdup(L"kept");
    char* text;
    require(asprintf(&text, "%d", 42) == 2, "asprintf");
    kept[used++] = text;
}

CASE void posix_memalign_bad(void) {
    void* block;
    require(posix_memalign(&block, 64, 100) == 0, "posix_memalign");
    KEEP(block);
}

CASE void aligned_alloc_bad(void) {
    KEEP(aligned_alloc(4096, 8192));
}

CASE void calloc_bad(void) {
    KEEP(calloc(3, 1000));
}

CASE void strdup_bad(void) {
    KEEP(strdup("lost"));
}

CASE void realloc_from_null_bad(void) {
    KEEP(realloc(NULL, 12));
}

CASE void realloc_grown_bad(void) {
    char* block = malloc(10);
    memcpy(block, "012345678", 10);
    for (size_t size = 20; size < (1 << 20); size *= 3) {
        block = realloc(block, size);
        require(memcmp(block, "012345678", 10) == 0, "realloc keeps contents");
    }
    KEEP(block);
}

CASE void realloc_shrunk_bad(void) {
    KEEP(realloc(malloc(100000), 10));
}

CASE void realloc_to_zero_ok(void) {
    require(realloc(malloc(100), 0) == NULL, "realloc(p, 0) frees");
}

CASE void zero_size_bad(void) {
    void* a = malloc(0);
    void* b = malloc(0);
    require(a != NULL && b != NULL && a != b, "malloc(0) is unique");
    free(b);
    KEEP(a);
}

CASE void large_bad(void) {
    char* block = malloc(50 << 20);
    block[0] = block[(50 << 20) - 1] = 1;
    KEEP(block);
}

CASE void too_large_ok(void) {
    volatile size_t half = SIZE_MAX / 2 + 1;
    errno = 0;
    void* block = malloc(half);
    require(block == NULL && errno == ENOMEM, "malloc refuses half the address space");
    errno = 0;
    block = calloc(half, 4);
    require(block == NULL && errno == ENOMEM, "calloc sees the overflow");
    void* small = malloc(10);
    void* grown = realloc(small, half);
    require(grown == NULL, "realloc refuses");
    if (grown == NULL) {
        free(small);
    }
}

CASE void usable_size_ok(void) {
    for (size_t size = 0; size < 5000; size += 13) {
        char* block = malloc(size);
        size_t usable = malloc_usable_size(block);
        require(usable >= size, "usable size");
        memset(block, 0x5a, usable);
        free(block);
    }
}

CASE void errno_survives_ok(void) {
    errno = 77;
    free(malloc(10));
    free(malloc(1 << 20));
    require(errno == 77, "errno survives malloc and free");
}

int main(void) {
    all_functions_ok();
    posix_memalign_bad();
    aligned_alloc_bad();
    calloc_bad();
    strdup_bad();
    realloc_from_null_bad();
    realloc_grown_bad();
    realloc_shrunk_bad();
    realloc_to_zero_ok();
    zero_size_bad();
    large_bad();
    too_large_ok();
    usable_size_ok();
    errno_survives_ok();
    KEEP(kept);
    scrub();
    return 0;
}
