// Merging of idle pages: contents stay, memory is saved as told, touches show page by
// page, and nothing is left behind when blocks go or the process forks.
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/options.h"
#include "check.h"
#include "heap/heap.h"
#include "heap/page_states.h"
#include "lens/pages.h"
#include "lens/pages_merge.h"
#include "lens/pages_state.h"
#include "os/backing.h"
#include "os/shelves.h"

enum { BLOCKS = 40000, SITES = 3, SIZES = 4, KEPT_OF = 8, SPAN_PAGES = 16 };

static unsigned char* blocks[BLOCKS];
static size_t sizes[BLOCKS];
static struct ll_presence presence;
static uint64_t time_ns;

static uint64_t test_clock(void) {
    return time_ns;
}

static unsigned random_number(void) {
    static uint64_t state = 88172645463325252U;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)(state >> 33);
}

static unsigned char content_of(int i) {
    return (unsigned char)(i * 37 + i / 251 + 1);
}

static void fill(int i) {
    sizes[i] = 40 + 56 * (size_t)(i % SIZES);
    blocks[i] = ll_heap_allocate(sizes[i], 1 + (ll_site)(i % SITES));
    memset(blocks[i], content_of(i), sizes[i]);
}

static bool holds(int i) {
    for (size_t at = 0; at < sizes[i]; at++) {
        if (blocks[i][at] != content_of(i)) {
            return false;
        }
    }
    return true;
}

static void touch(int i) {
    (void)*(volatile unsigned char*)blocks[i];
}

static void drop(int i) {
    CHECK(ll_heap_release(blocks[i]));
    blocks[i] = NULL;
}

static int count_damaged(void) {
    int damaged = 0;
    for (int i = 0; i < BLOCKS; i++) {
        damaged += blocks[i] != NULL && !holds(i);
    }
    return damaged;
}

static void fill_all_and_drop_most(void) {
    for (int i = 0; i < BLOCKS; i++) {
        fill(i);
    }
    for (int i = 0; i < BLOCKS; i++) {
        if (random_number() % KEPT_OF != 0) {
            drop(i);
        }
    }
}

static void watch_everything(uint64_t at_ms) {
    ll_pages.is_coarse |= !ll_presence_single_out(
        &presence, ll_page_states.start, ll_page_states.count << LL_PAGE_SHIFT);
    time_ns = at_ms * 1000000;
    ll_watch_scan(&ll_pages.watch, &presence, test_clock);
    ll_pages.watch.target_pages = ll_page_states.count;
    for (int i = 0; i <= LL_PAGE_RESTS; i++) {
        ll_watch_extend(&ll_pages.watch, UINT64_MAX, test_clock);
    }
}

// Merges until a round finds no more, at a time when all is cold.
static void merge_all(uint64_t now_ms) {
    size_t before;
    do {
        before = ll_shelves_totals().merged_pages;
        for (int i = 0; i < 8 && ll_merging_is_worth_it(now_ms, UINT64_MAX); i++) {
            ll_merging_do(&presence);
            ll_merging_forget();
        }
    } while (ll_shelves_totals().merged_pages > before);
}

static size_t saved_pages(void) {
    struct ll_shelves_totals totals = ll_shelves_totals();
    return totals.merged_pages - totals.shelves + ll_merging.emptied_pages;
}

static void memory_is_saved_as_told(void) {
    watch_everything(1000);
    size_t saved_before = saved_pages();
    uint64_t before = ll_backing_bytes();
    merge_all(5000);
    CHECK(ll_shelves_totals().merged_pages > 100);
    size_t saved = saved_pages() - saved_before;
    CHECK(saved > before / LL_PAGE_SIZE / 3);
    CHECK(before - ll_backing_bytes() == saved * LL_PAGE_SIZE);
}

// The companion goes by the number to ask the kernel again that a touch bring back one
// page and no more.
static void new_mappings_are_counted(void) {
    int merged = 0;
    while (!ll_shelves_is_merged((uintptr_t)blocks[merged])) {
        merged++;
    }
    uintptr_t page = (uintptr_t)blocks[merged] & ~(uintptr_t)(LL_PAGE_SIZE - 1);
    uint32_t before = ll_backing_mappings();
    CHECK(before >= ll_shelves_totals().merged_pages);
    CHECK(ll_backing_map_page(page, ll_shelves_place(page)));
    CHECK(ll_backing_mappings() == before + 1);
}

static uint64_t idle_ms(const void* start, uint64_t now_ms) {
    struct ll_block block;
    uint64_t lower_ns = 0;
    ll_watch_scan(&ll_pages.watch, &presence, test_clock);
    ll_pages.now_ms = now_ms;
    CHECK(ll_block_at((uintptr_t)start, &block));
    CHECK(ll_pages_idle_ns(block, &lower_ns));
    return lower_ns / 1000000;
}

static bool is_merged(int i) {
    return blocks[i] != NULL && ll_shelves_is_merged((uintptr_t)blocks[i]) &&
           ll_shelves_is_merged((uintptr_t)blocks[i] + sizes[i] - 1);
}

static int find_merged(int from) {
    while (!is_merged(from)) {
        from++;
    }
    return from;
}

// Two pages on one shelf: a touch of one is none of the other.
static void bounds_stay_and_touches_show_page_by_page(void) {
    int touched = find_merged(0);
    int untouched = find_merged(touched + 1);
    uint32_t page = (uint32_t)((uintptr_t)blocks[touched] >> LL_PAGE_SHIFT);
    while ((uint32_t)((uintptr_t)blocks[untouched] >> LL_PAGE_SHIFT) - page < 2) {
        untouched = find_merged(untouched + 1);
    }
    CHECK(idle_ms(blocks[touched], 5000) == 3999);
    touch(touched);
    CHECK(idle_ms(blocks[touched], 5000) == 0);
    CHECK(idle_ms(blocks[untouched], 5000) == 3999);
}

// The touch comes after the last scan and before the merge, which must not hide it.
static void a_touch_just_before_the_merge_shows(void) {
    watch_everything(1000);
    CHECK(ll_merging_is_worth_it(5000, UINT64_MAX));
    for (int i = 0; i < BLOCKS; i++) {
        if (blocks[i] != NULL) {
            touch(i);
        }
    }
    ll_merging_do(&presence);
    ll_merging_forget();
    CHECK(ll_shelves_totals().merged_pages == 0);
    for (int i = 0; i < BLOCKS; i += 100) {
        CHECK(blocks[i] == NULL || idle_ms(blocks[i], 5000) == 0);
    }
}

// In use or not: what is free on a merged page holds blocks of others.
static void new_blocks_keep_off_merged_pages(void) {
    CHECK(count_damaged() == 0); // by which all pages were touched
    ll_watch_scan(&ll_pages.watch, &presence, test_clock);
    for (int i = 0; i < BLOCKS; i++) {
        if (blocks[i] == NULL) {
            fill(i);
        }
    }
    CHECK(count_damaged() == 0);
}

// All but those of the spans that new blocks of a site and size would go to.
static void pages_leave_their_shelves_when_all_is_freed(void) {
    for (int i = 0; i < BLOCKS; i++) {
        if (blocks[i] != NULL) {
            drop(i);
        }
    }
    CHECK(ll_shelves_totals().merged_pages <= (size_t)SITES * SIZES * SPAN_PAGES);
    CHECK(ll_shelves_totals().shelves <= ll_shelves_totals().merged_pages);
    unsigned char* zeroed = ll_heap_allocate_zeroed(4 << 20, 1);
    for (int i = 0; i < 4 << 20; i++) {
        CHECK(zeroed[i] == 0);
    }
    CHECK(ll_heap_release(zeroed));
}

static void contents_outlive_random_work(void) {
    for (int round = 0; round < 8; round++) {
        for (int i = 0; i < BLOCKS / 4; i++) {
            int at = (int)(random_number() % BLOCKS);
            if (blocks[at] != NULL) {
                CHECK(holds(at));
                drop(at);
            } else if (random_number() % 4 == 0) {
                fill(at);
            }
        }
        watch_everything(10000 + 3000 * (uint64_t)round);
        merge_all(12000 + 3000 * (uint64_t)round);
    }
    CHECK(count_damaged() == 0);
}

static int child_changes_its_own_copy(void) {
    bool is_good = count_damaged() == 0;
    for (int i = 0; i < BLOCKS; i++) {
        if (blocks[i] != NULL) {
            memset(blocks[i], 0, sizes[i]);
        }
    }
    usleep(20000);
    return is_good ? 0 : 1;
}

static void merged_pages_are_not_shared_with_a_child(void) {
    int status = -1;
    watch_everything(100000);
    merge_all(105000);
    CHECK(ll_shelves_totals().merged_pages > 0);
    ll_pages_fork_prepare();
    ll_heap_fork_prepare();
    pid_t child = fork();
    if (child == 0) {
        ll_pages_fork_child();
        ll_heap_fork_child();
        _exit(child_changes_its_own_copy());
    }
    ll_heap_fork_parent();
    ll_pages_fork_parent();
    CHECK(count_damaged() == 0);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(count_damaged() == 0);
    CHECK(ll_shelves_totals().merged_pages == 0);
    watch_everything(110000);
    merge_all(115000);
    CHECK(ll_shelves_totals().merged_pages > 0);
    CHECK(count_damaged() == 0);
}

// A heap that stays frozen after a fork still takes merged pages apart.
static void a_frozen_heap_takes_pages_apart(void) {
    ll_pages_unknown_fork();
    CHECK(!ll_backing_is_shared());
    CHECK(count_damaged() == 0);
    new_blocks_keep_off_merged_pages();
    pages_leave_their_shelves_when_all_is_freed();
}

// Memory that a device may write to must stay where it is, and so must all of it while
// some thread could not be stopped.
static void nothing_moves_with_pinned_memory_or_running_threads(void) {
    unsigned long io = 0;
    watch_everything(1000);
    CHECK(ll_merging_is_worth_it(5000, UINT64_MAX));
    ll_pages_merge(false);
    CHECK(ll_shelves_totals().merged_pages == 0);
    if (syscall(SYS_io_setup, 8, &io) == 0) {
        CHECK(ll_merging_is_worth_it(5000, UINT64_MAX));
        ll_pages_merge(true);
        CHECK(ll_shelves_totals().merged_pages == 0);
        syscall(SYS_io_destroy, io);
    }
    CHECK(ll_merging_is_worth_it(5000, UINT64_MAX));
    ll_pages_merge(true);
    CHECK(ll_shelves_totals().merged_pages > 0);
}

static void used_bytes_are_what_blocks_cover(void) {
    struct ll_granules one = {{3, 0, 0, 1}};
    struct ll_granules other = {{4, 0, 0, 2}};
    CHECK(!ll_granules_overlap(&one, &other));
    other.bits[3] |= 1;
    CHECK(ll_granules_overlap(&one, &other));
    CHECK(ll_granules_count(&other) == 3);
}

int main(void) {
    ll_options.compact = 1;
    if (!ll_pages_prepare()) {
        fprintf(stderr, "this system does not tell touches: nothing was tested\n");
        return 1;
    }
    CHECK(ll_heap_start());
    CHECK(ll_merging.is_on);
    CHECK(ll_presence_open(&presence));
    used_bytes_are_what_blocks_cover();
    fill_all_and_drop_most();
    a_touch_just_before_the_merge_shows();
    nothing_moves_with_pinned_memory_or_running_threads();
    memory_is_saved_as_told();
    new_mappings_are_counted();
    bounds_stay_and_touches_show_page_by_page();
    new_blocks_keep_off_merged_pages();
    contents_outlive_random_work();
    pages_leave_their_shelves_when_all_is_freed();
    fill_all_and_drop_most();
    merged_pages_are_not_shared_with_a_child();
    a_frozen_heap_takes_pages_apart();
    return failures != 0;
}
