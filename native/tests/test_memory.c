// Pages and locks that everything else stands on.
#include "os/memory.h"

#include <pthread.h>
#include <string.h>

#include "check.h"
#include "os/lock.h"

static void maps_are_zeroed_own_and_apart(void) {
    char* one = ll_memory_map(10000);
    char* other = ll_memory_map(1);
    CHECK(one != NULL && other != NULL);
    CHECK(one[0] == 0 && one[9999] == 0);
    memset(one, 1, 3 * LL_PAGE_SIZE);
    CHECK(other[0] == 0);
    CHECK(ll_memory_is_own((uintptr_t)one) && ll_memory_is_own((uintptr_t)other));
    CHECK(ll_memory_own_end((uintptr_t)one) > (uintptr_t)other);
    ll_memory_unmap(one, 10000);
    ll_memory_unmap(other, 1);
}

static void other_memory_is_not_own(void) {
    int local;
    CHECK(!ll_memory_is_own((uintptr_t)&local));
    CHECK(!ll_memory_is_own(0));
    CHECK(ll_memory_own_end((uintptr_t)&local) == 0);
}

static void commits_keep_what_is_there(void) {
    char* start = ll_memory_reserve(NULL, (size_t)1 << 36);
    CHECK(start != NULL);
    CHECK(ll_memory_commit(start + 4 * LL_PAGE_SIZE, 2 * LL_PAGE_SIZE));
    start[4 * LL_PAGE_SIZE] = 7;
    CHECK(ll_memory_commit(start, 16 * LL_PAGE_SIZE));
    CHECK(start[4 * LL_PAGE_SIZE] == 7);
    CHECK(start[0] == 0 && start[16 * LL_PAGE_SIZE - 1] == 0);
    CHECK(ll_memory_purge(start, 16 * LL_PAGE_SIZE));
    CHECK(start[4 * LL_PAGE_SIZE] == 0);
    ll_memory_unmap(start, 16 * LL_PAGE_SIZE);
}

static void too_much_is_refused(void) {
    CHECK(ll_memory_reserve(NULL, (size_t)1 << 41) == NULL);
    CHECK(ll_memory_reserve(NULL, SIZE_MAX) == NULL);
    CHECK(ll_memory_map(SIZE_MAX - 100) == NULL);
    for (int i = 0; i < 20; i++) {
        CHECK(ll_memory_map((size_t)1 << 41) == NULL);
        ll_memory_reserve(NULL, (size_t)700 << 30);
    }
    CHECK(ll_memory_map(LL_PAGE_SIZE) != NULL);
}

static void ranges_start_at_boundaries_of_their_own(void) {
    char* one = ll_memory_start_range(LL_PAGE_SIZE);
    CHECK(one != NULL && !ll_memory_is_own((uintptr_t)one));
    one[0] = 1;
    CHECK(!ll_memory_commit(one, 2 * LL_PAGE_SIZE));
    CHECK(ll_memory_commit(one + LL_PAGE_SIZE, LL_PAGE_SIZE));
    CHECK(one[0] == 1);
}

static void pages_move_without_copies(void) {
    char* from = ll_memory_map(4 * LL_PAGE_SIZE);
    char* to = ll_memory_map(4 * LL_PAGE_SIZE);
    memset(from, 3, 4 * LL_PAGE_SIZE);
    if (ll_memory_move(from, to, 4 * LL_PAGE_SIZE)) {
        CHECK(to[0] == 3 && to[4 * LL_PAGE_SIZE - 1] == 3);
        CHECK(from[0] == 0);
    } else {
        CHECK(from[0] == 3 && to[0] == 0);
    }
}

enum { THREADS = 4, ROUNDS = 20000 };
static struct ll_lock lock;
static int guarded;

static void* count_under_lock(void* unused) {
    for (int i = 0; i < ROUNDS; i++) {
        if (i % 2 == 0) {
            ll_lock_take(&lock);
            guarded++;
            ll_lock_drop(&lock);
        } else {
            uint64_t mask = ll_lock_take_masked(&lock);
            guarded++;
            ll_lock_drop_masked(&lock, mask);
        }
    }
    return unused;
}

static void locks_exclude(void) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, count_under_lock, NULL);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    CHECK(guarded == THREADS * ROUNDS);
    CHECK(ll_lock_try(&lock) && !ll_lock_try(&lock));
    ll_lock_renew(&lock);
    CHECK(ll_lock_try(&lock));
}

int main(void) {
    maps_are_zeroed_own_and_apart();
    other_memory_is_not_own();
    commits_keep_what_is_there();
    too_much_is_refused();
    ranges_start_at_boundaries_of_their_own();
    pages_move_without_copies();
    locks_exclude();
    return failures != 0;
}
