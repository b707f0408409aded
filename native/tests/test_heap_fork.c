// The heap across fork while other threads are at work on theirs: the child gets a
// whole heap, knows which blocks it inherited, and may free them.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "blocks.h"
#include "check.h"
#include "heap/inspect.h"

enum { THREADS = 3, FORKS = 40, KEPT = 500 };

static uint32_t stop;
static struct patterned kept[KEPT];

static void* keep_busy(void* seed) {
    enum { OWN_MAX = 200 };
    void* own[OWN_MAX] = {0};
    uint32_t random_state = (uint32_t)(uintptr_t)seed;
    while (__atomic_load_n(&stop, __ATOMIC_RELAXED) == 0) {
        size_t i = next_random(&random_state) % OWN_MAX;
        ll_heap_release(own[i]);
        own[i] = ll_heap_allocate(random_size(&random_state), 9);
    }
    for (size_t i = 0; i < OWN_MAX; i++) {
        ll_heap_release(own[i]);
    }
    ll_heap_thread_exit();
    return NULL;
}

static void check_inherited_block(struct patterned expected) {
    struct ll_block block;
    CHECK(ll_block_at((uintptr_t)expected.start, &block));
    CHECK(ll_block_is_inherited(block));
    CHECK(ll_block_site(block) == expected.site);
    CHECK(pattern_is_intact(expected));
    void* again = ll_heap_reallocate(expected.start, expected.size_bytes, 6).block;
    CHECK(ll_block_at((uintptr_t)again, &block) && !ll_block_is_inherited(block));
    CHECK(ll_heap_release(again));
}

static void check_own_blocks(void) {
    uint32_t random_state = 77;
    struct patterned own[KEPT];
    for (int i = 0; i < KEPT; i++) {
        size_t size = random_size(&random_state);
        own[i] = (struct patterned){ll_heap_allocate(size, 5), size, 5};
        CHECK(own[i].start != NULL);
        pattern_fill(own[i]);
    }
    for (int i = 0; i < KEPT; i++) {
        struct ll_block block;
        CHECK(pattern_is_intact(own[i]));
        CHECK(ll_block_at((uintptr_t)own[i].start, &block));
        CHECK(!ll_block_is_inherited(block));
        CHECK(ll_heap_release(own[i].start));
    }
}

static void run_child(void) {
    CHECK(!ll_heap_allocated_since_fork());
    CHECK(ll_heap_totals().allocations == 0);
    check_own_blocks();
    CHECK(ll_heap_allocated_since_fork());
    for (int i = 0; i < KEPT; i++) {
        check_inherited_block(kept[i]);
    }
    check_own_blocks();
}

static int fork_with_heap(void (*child)(void)) {
    ll_heap_fork_prepare();
    pid_t pid = fork();
    if (pid == 0) {
        ll_heap_fork_child();
        child();
        _exit(failures != 0);
    }
    ll_heap_fork_parent();
    int status = -1;
    waitpid(pid, &status, 0);
    return status;
}

static void run_grandchild(void) {
    struct ll_block block;
    for (int i = 0; i < KEPT; i++) {
        CHECK(ll_block_at((uintptr_t)kept[i].start, &block));
        CHECK(ll_block_is_inherited(block));
    }
}

static void fork_again(void) {
    run_grandchild();
    CHECK(fork_with_heap(run_grandchild) == 0);
}

int main(void) {
    CHECK(ll_heap_start());
    uint32_t random_state = 3;
    for (uint32_t i = 0; i < KEPT; i++) {
        size_t size = random_size(&random_state);
        kept[i] = (struct patterned){ll_heap_allocate(size, i), size, i};
        pattern_fill(kept[i]);
    }
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, keep_busy, (void*)(i + 1));
    }
    for (int i = 0; i < FORKS; i++) {
        CHECK(fork_with_heap(run_child) == 0);
        usleep(500);
    }
    CHECK(fork_with_heap(fork_again) == 0);
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    CHECK(ll_heap_totals().live_blocks == KEPT);
    return failures != 0;
}
