// How the heap deals with the system: pages are returned, sparse blocks cost nothing,
// large blocks grow in place, and a limit on address space ends in NULL, not in a
// crash.
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "blocks.h"
#include "check.h"
#include "heap/headers.h"
#include "heap/inspect.h"

static size_t resident_bytes(void) {
    FILE* file = fopen("/proc/self/statm", "r");
    size_t total = 0;
    size_t resident = 0;
    CHECK(fscanf(file, "%zu %zu", &total, &resident) == 2);
    fclose(file);
    return resident * 4096;
}

enum { MANY = 1 << 17 };
static void* many[MANY];

static void freed_small_blocks_are_returned(void) {
    ll_heap_trim();
    size_t before = resident_bytes();
    for (int i = 0; i < MANY; i++) {
        many[i] = memset(ll_heap_allocate(1000, 1), 1, 1000);
    }
    CHECK(resident_bytes() > before + (100 << 20));
    for (int i = 0; i < MANY; i++) {
        CHECK(ll_heap_release(many[i]));
    }
    CHECK(resident_bytes() < before + (24 << 20));
    CHECK(ll_heap_trim());
    CHECK(resident_bytes() < before + (8 << 20));
}

// A program that goes on with blocks of another size needs no more words.
static void words_of_one_class_serve_the_next(void) {
    enum { CLASS = 5 };
    struct ll_span* before = ll_header_take_small(CLASS);
    CHECK(before != NULL);
    memset(before->words, 1, before->capacity * sizeof *before->words);
    ll_header_give(before);
    struct ll_span* after = ll_header_take_small(CLASS + 1);
    CHECK(after == before && after->capacity == ll_classes[CLASS + 1].capacity);
    for (uint32_t i = 0; i <= after->capacity; i++) {
        CHECK(ll_word_get(after, i) == 0);
    }
    ll_header_give(after);
    CHECK(ll_header_take_small(CLASS) == before);
    ll_header_give(before);
}

static size_t use_and_free(void) {
    for (int i = 0; i < MANY; i++) {
        many[i] = memset(ll_heap_allocate(400, 1), 1, 400);
    }
    for (int i = 0; i < MANY; i++) {
        CHECK(ll_heap_release(many[i]));
    }
    return resident_bytes();
}

static void pages_used_in_turns_are_kept(void) {
    ll_heap_trim();
    size_t before = resident_bytes();
    CHECK(use_and_free() < before + (24 << 20));
    use_and_free();
    CHECK(use_and_free() > before + (32 << 20));
    ll_heap_trim();
    CHECK(resident_bytes() < before + (8 << 20));
}

static void freed_large_blocks_are_returned(void) {
    ll_heap_trim();
    size_t before = resident_bytes();
    size_t size = (size_t)200 << 20;
    for (int i = 0; i < 5; i++) {
        void* block = memset(ll_heap_allocate(size, 1), 1, size);
        CHECK(resident_bytes() > before + size / 2);
        CHECK(ll_heap_release(block));
        CHECK(resident_bytes() < before + (24 << 20));
    }
}

static void untouched_blocks_cost_nothing(void) {
    size_t before = resident_bytes();
    size_t size = (size_t)8 << 30;
    unsigned char* plain = ll_heap_allocate(size, 1);
    unsigned char* zeroed = ll_heap_allocate_zeroed(size, 1);
    if (plain != NULL && zeroed != NULL) {
        CHECK(zeroed[size / 2] == 0 && zeroed[size - 1] == 0);
        plain[size / 2] = 1;
        struct ll_block block;
        CHECK(ll_block_at((uintptr_t)plain + size, &block));
        CHECK(ll_block_start(block) == (uintptr_t)plain);
    }
    CHECK(resident_bytes() < before + (16 << 20));
    ll_heap_release(plain);
    ll_heap_release(zeroed);
}

static void large_blocks_keep_their_contents_as_they_grow(void) {
    struct patterned block = {ll_heap_allocate(40000, 1), 40000, 1};
    pattern_fill(block);
    void* obstacle = ll_heap_allocate(40000, 1);
    for (size_t size = 50000; size < (64 << 20); size += size / 3) {
        unsigned char pattern = pattern_of(block.start);
        unsigned char* start = ll_heap_reallocate(block.start, size, 1).block;
        CHECK(pattern_holds(start, pattern, block.size_bytes));
        block = (struct patterned){start, size, 1};
        pattern_fill(block);
    }
    CHECK(ll_heap_reallocate(block.start, 40000, 1).block == block.start);
    block.size_bytes = 40000;
    CHECK(pattern_is_intact(block));
    CHECK(ll_heap_release(block.start) && ll_heap_release(obstacle));
}

static void freed_address_space_is_returned(void) {
    uint64_t before = ll_heap_totals().mapped_bytes;
    void* block = ll_heap_allocate((size_t)4 << 30, 1);
    CHECK(block != NULL && ll_heap_release(block));
    CHECK(ll_heap_totals().mapped_bytes <= before);
}

static size_t allocate_until_refused(size_t size) {
    size_t count = 0;
    while (count < MANY && (many[count] = ll_heap_allocate(size, 1)) != NULL) {
        memset(many[count], 1, 1);
        count++;
    }
    for (size_t i = 0; i < count; i++) {
        CHECK(ll_heap_release(many[i]));
    }
    return count;
}

static size_t mapped_bytes(void) {
    FILE* file = fopen("/proc/self/statm", "r");
    size_t total = 0;
    CHECK(fscanf(file, "%zu", &total) == 1);
    fclose(file);
    return total * 4096;
}

static int run_under_limit(void) {
    size_t room = (size_t)64 << 20;
    struct rlimit limit = {mapped_bytes() + room, RLIM_INFINITY};
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    size_t sizes[] = {1000, 5000, 100000, 3 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        size_t bytes = allocate_until_refused(sizes[i]) * sizes[i];
        CHECK(bytes > room / 2 && bytes < room * 3);
    }
    CHECK(ll_heap_allocate(room * 4, 1) == NULL);
    void* block = ll_heap_allocate(100, 1);
    CHECK(block != NULL && ll_heap_release(block));
    return failures != 0;
}

static void a_limit_on_address_space_ends_in_null(void) {
    pid_t pid = fork();
    if (pid == 0) {
        _exit(run_under_limit());
    }
    int status = -1;
    waitpid(pid, &status, 0);
    CHECK(status == 0);
}

static int run_with_locked_memory(void) {
    // Pages that appear from now on are locked and cannot be given back.
    struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
    setrlimit(RLIMIT_MEMLOCK, &limit);
    if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
        fprintf(stderr, "locked memory is not to be had: not tested\n");
        return failures != 0;
    }
    for (int round = 0; round < 3; round++) {
        for (size_t size = 1000; size < (48 << 20); size *= 3) {
            unsigned char* blocks[8];
            for (int i = 0; i < 8; i++) {
                blocks[i] = ll_heap_allocate_zeroed(size, 1);
                CHECK(pattern_holds(blocks[i], 0, size));
                memset(blocks[i], 1, size);
            }
            for (int i = 0; i < 8; i++) {
                CHECK(ll_heap_release(blocks[i]));
            }
        }
        ll_heap_trim();
    }
    return failures != 0;
}

static void locked_memory_is_never_taken_for_zeroed(void) {
    pid_t pid = fork();
    if (pid == 0) {
        _exit(run_with_locked_memory());
    }
    int status = -1;
    waitpid(pid, &status, 0);
    CHECK(status == 0);
}

// Sanitizers reserve most of the address space, which a limit on it would count, and
// keep shadow pages of what was touched.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { MEMORY_CAN_BE_MEASURED = 0 };
#else
enum { MEMORY_CAN_BE_MEASURED = 1 };
#endif

int main(void) {
    CHECK(ll_heap_start());
    if (MEMORY_CAN_BE_MEASURED) {
        a_limit_on_address_space_ends_in_null();
        untouched_blocks_cost_nothing();
        freed_small_blocks_are_returned();
        words_of_one_class_serve_the_next();
        pages_used_in_turns_are_kept();
        freed_large_blocks_are_returned();
        freed_address_space_is_returned();
        locked_memory_is_never_taken_for_zeroed();
        a_limit_on_address_space_ends_in_null();
    }
    large_blocks_keep_their_contents_as_they_grow();
    return failures != 0;
}
