// Prints what the C allocation functions return and what they leave in errno, in the
// usual cases and in all the odd ones. The output must not depend on who serves them.
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void say(const char* what, const void* block) {
    printf("%s: %s, errno %d\n", what, block != NULL ? "block" : "null", errno);
    errno = 77;
}

#define SAY(call)                                                                      \
    do {                                                                               \
        void* volatile block = (call);                                                 \
        say(#call, block);                                                             \
        free(block);                                                                   \
    } while (0)

// Keeps the compiler from judging the sizes.
static volatile size_t zero = 0;
static volatile size_t huge = SIZE_MAX;
static volatile size_t too_big = (size_t)PTRDIFF_MAX + 1;

static void ordinary_and_impossible_sizes(void) {
    SAY(malloc(10));
    SAY(malloc(zero));
    SAY(malloc(huge));
    SAY(malloc(huge - 4096));
    SAY(malloc(too_big));
    SAY(calloc(zero, 10));
    SAY(calloc(10, zero));
    SAY(calloc(huge, 2));
    SAY(calloc(too_big, 1));
    SAY(calloc(3, 5));
    SAY(realloc(NULL, 10));
    SAY(realloc(NULL, zero));
    SAY(realloc(NULL, huge));
    SAY(reallocarray(NULL, huge, 2));
    SAY(reallocarray(NULL, 2, 30));
}

static void aligned_sizes(void) {
    SAY(memalign(zero, 10));
    SAY(memalign(3, 10));
    SAY(memalign(4096, 10));
    SAY(memalign(huge, 10));
    SAY(memalign(4096, huge));
    SAY(aligned_alloc(64, 100));
    SAY(aligned_alloc(1 << 20, 100));
    SAY(aligned_alloc(64, huge));
    SAY(valloc(10));
    SAY(valloc(huge));
    SAY(pvalloc(10));
    SAY(pvalloc(huge));
}

static void posix_results(void) {
    size_t alignments[] = {0, 1, 4, 8, 12, 24, 16, 64, 4096, (size_t)1 << 40};
    for (size_t i = 0; i < sizeof alignments / sizeof alignments[0]; i++) {
        void* block = &errno;
        int result = posix_memalign(&block, alignments[i], 100);
        printf("posix_memalign %zu: %d, %s, errno %d\n", alignments[i], result,
               block == &errno ? "untouched" : "block", errno);
        if (result == 0) {
            printf("aligned: %d\n", (uintptr_t)block % alignments[i] == 0);
            free(block);
        }
        errno = 77;
    }
    void* block = &errno;
    printf("too big: %d, %d\n", posix_memalign(&block, 64, huge), block == &errno);
    errno = 77;
}

static void a_failed_realloc_leaves_the_block(void) {
    char* block = malloc(100);
    strcpy(block, "still here");
    say("realloc to a huge size", realloc(block, huge));
    say("reallocarray that overflows", reallocarray(block, huge / 2, 3));
    printf("%s\n", block);
    say("realloc to 0 frees", realloc(block, zero));
}

static void contents_survive_realloc(void) {
    char* block = calloc(1, 1);
    size_t size = 1;
    for (size_t next = 2; next < 5000000; next += next / 2 + 1) {
        block = realloc(block, next);
        memset(block + size, (int)(size % 251), next - size);
        size = next;
    }
    unsigned long sum = 0;
    for (size_t i = 0; i < size; i++) {
        sum = sum * 31 + (unsigned char)block[i];
    }
    block = realloc(block, 20);
    printf("sum %lx, after shrinking %d\n", sum, block[10]);
    free(block);
    errno = 77;
}

static void usable_size_is_usable(void) {
    for (size_t size = 0; size < 300000; size = size * 2 + 1) {
        char* block = malloc(size);
        size_t usable = malloc_usable_size(block);
        memset(block, 1, usable);
        printf("usable size of %zu is enough: %d\n", size, usable >= size);
        free(block);
    }
    printf("of nothing: %zu\n", malloc_usable_size(NULL));
}

static void blocks_of_no_size_differ(void) {
    void* one = malloc(zero);
    void* other = malloc(zero);
    printf("differ: %d\n", one != other);
    free(one);
    free(other);
    free(NULL);
    say("free keeps errno", NULL);
}

static void statistics_answer(void) {
    void* block = malloc(100000);
    struct mallinfo2 info = mallinfo2();
    printf("in use at least: %d\n", info.uordblks + info.hblkhd >= 100000);
    printf("mallopt: %d\n", mallopt(M_MMAP_THRESHOLD, 1 << 20));
    printf("malloc_info: %d\n", malloc_info(1, stdout));
    free(block);
    malloc_trim(0);
    say("malloc_trim", NULL);
}

int main(void) {
    errno = 77;
    ordinary_and_impossible_sizes();
    aligned_sizes();
    posix_results();
    a_failed_realloc_leaves_the_block();
    contents_survive_realloc();
    usable_size_is_usable();
    blocks_of_no_size_differ();
    statistics_answer();
    return 0;
}
