// Lens `pages` without its companion: the tests scan and watch themselves, by a clock
// of their own. Each trap that could make a block look idle for longer than it is has a
// test.
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/options.h"
#include "check.h"
#include "format/records.h"
#include "heap/heap.h"
#include "heap/page_states.h"
#include "lens/pages.h"
#include "lens/pages_pace.h"
#include "lens/pages_state.h"
#include "os/backing.h"
#include "os/memory.h"

enum { BLOCKS = 512, BLOCK_BYTES = 1000, SITE = 7 };

static char* blocks[BLOCKS];
static struct ll_presence presence;
static uint64_t time_ns;
static void (*while_pending)(void);

// What happens here happens after the pages are out and before their time is taken.
static uint64_t test_clock(void) {
    if (while_pending != NULL) {
        while_pending();
    }
    return time_ns;
}

static void take_everything_out(uint64_t at_ms) {
    time_ns = at_ms * 1000000;
    ll_watch_scan(&ll_pages.watch, &presence, test_clock);
    ll_pages.watch.target_pages = ll_page_states.count;
    for (int i = 0; i <= LL_PAGE_RESTS; i++) {
        ll_watch_extend(&ll_pages.watch, UINT64_MAX, test_clock);
    }
}

// All blocks are used just before.
static void watch_everything(uint64_t at_ms) {
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i][0]++;
    }
    take_everything_out(at_ms);
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

static void untouched_blocks_are_idle_and_touched_ones_are_not(void) {
    watch_everything(1000);
    blocks[100][0]++;
    CHECK(idle_ms(blocks[0], 5000) == 3999);
    CHECK(idle_ms(blocks[100], 5000) == 0);
    CHECK(idle_ms(blocks[BLOCKS - 1], 5000) == 3999);
}

static void a_system_call_is_a_touch(void) {
    int pipe_ends[2];
    CHECK(pipe(pipe_ends) == 0);
    watch_everything(1000);
    CHECK(write(pipe_ends[1], blocks[200], 100) == 100);
    CHECK(read(pipe_ends[0], blocks[300], 100) == 100);
    CHECK(idle_ms(blocks[200], 5000) == 0);
    CHECK(idle_ms(blocks[300], 5000) == 0);
    CHECK(idle_ms(blocks[0], 5000) == 3999);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
}

static void touch_block(void) {
    uint64_t state = *ll_page_state((uintptr_t)blocks[10]);
    if ((state & LL_PAGE_TIME) == LL_PAGE_PENDING) {
        blocks[10][0]++;
    }
}

static void a_touch_before_the_time_is_taken_shows(void) {
    while_pending = touch_block;
    watch_everything(1000);
    while_pending = NULL;
    CHECK(idle_ms(blocks[10], 5000) == 0);
}

static void a_block_is_not_idle_for_longer_than_it_exists(void) {
    watch_everything(1000);
    ll_heap_release(blocks[20]);
    char* born = ll_heap_allocate(BLOCK_BYTES, SITE);
    CHECK(idle_ms(born, 5000) == 0);
    watch_everything(6000);
    CHECK(idle_ms(born, 7000) == 999);
    blocks[20] = born;
}

// While there are too few blocks of the site for spans of its own.
static void a_block_of_the_common_heap_is_not_idle_for_longer(void) {
    char* neighbour = ll_heap_allocate(BLOCK_BYTES, SITE);
    take_everything_out(1000);
    char* born = ll_heap_allocate(BLOCK_BYTES, SITE);
    CHECK(born - neighbour < 10 * BLOCK_BYTES); // of the same span
    CHECK(idle_ms(born, 5000) == 0);
    ll_heap_release(born);
    ll_heap_release(neighbour);
}

// The first touch comes after a scan and before the page is taken out.
static void what_was_used_before_it_was_watched_is_not_never_used(void) {
    enum { LARGE = 3 << 20 };
    char* large = ll_heap_allocate(LARGE, SITE);
    uint64_t* used = ll_page_state((uintptr_t)large + LARGE / 2);
    uint64_t* unused = ll_page_state((uintptr_t)large + LARGE / 4);
    ll_watch_scan(&ll_pages.watch, &presence, test_clock);
    large[LARGE / 2] = 1;
    ll_pages.watch.target_pages = ll_page_states.count;
    ll_watch_extend(&ll_pages.watch, UINT64_MAX, test_clock);
    CHECK((*used & LL_PAGE_TIME) >= LL_PAGE_FIRST && (*used & LL_PAGE_SEEN) != 0);
    CHECK((*unused & LL_PAGE_TIME) >= LL_PAGE_FIRST && (*unused & LL_PAGE_SEEN) == 0);
    ll_heap_release(large);
}

static void no_more_is_taken_out_at_once_than_asked_for(void) {
    enum { FEW = 10 };
    ll_watch_end(&ll_pages.watch);
    ll_pages.watch.target_pages = ll_page_states.count;
    ll_watch_extend(&ll_pages.watch, FEW, test_clock);
    CHECK(ll_pages.watch.watched_pages == FEW);
}

static bool is_watched(const void* address) {
    return (*ll_page_state((uintptr_t)address) & LL_PAGE_TIME) >= LL_PAGE_FIRST;
}

static void a_page_that_was_touched_is_left_alone_for_a_while(void) {
    watch_everything(1000);
    blocks[100][0]++;
    ll_watch_scan(&ll_pages.watch, &presence, test_clock);
    for (int i = 0; i < LL_PAGE_RESTS; i++) {
        ll_watch_extend(&ll_pages.watch, UINT64_MAX, test_clock);
        CHECK(!is_watched(blocks[100]));
    }
    ll_watch_extend(&ll_pages.watch, UINT64_MAX, test_clock);
    CHECK(is_watched(blocks[100]));
}

static void a_birth_on_a_watched_page_counts_as_a_touch(void) {
    watch_everything(1000);
    ll_watch_scan(&ll_pages.watch, &presence, test_clock);
    uint64_t before = ll_pages.watch.touches;
    ll_page_states_end_watch((uintptr_t)blocks[100], 1);
    ll_watch_scan(&ll_pages.watch, &presence, test_clock);
    CHECK(ll_pages.watch.touches == before + 1);
    ll_watch_scan(&ll_pages.watch, &presence, test_clock);
    CHECK(ll_pages.watch.touches == before + 1);
}

static void a_large_block_is_not_idle_for_longer_than_it_exists(void) {
    enum { LARGE = 1 << 20 };
    char* before = ll_heap_allocate(LARGE, SITE);
    memset(before, 1, LARGE);
    watch_everything(1000);
    ll_heap_release(before);
    char* born = ll_heap_allocate(LARGE, SITE);
    CHECK(born == before);
    CHECK(idle_ms(born, 5000) == 0);
    ll_heap_release(born);
}

static void be_born(void) {
    uint64_t state = *ll_page_state((uintptr_t)blocks[30]);
    if ((state & LL_PAGE_TIME) == LL_PAGE_PENDING) {
        ll_page_states_born((uintptr_t)blocks[30], BLOCK_BYTES);
    }
}

static void a_block_born_while_its_page_is_taken_out_is_not_watched(void) {
    while_pending = be_born;
    watch_everything(1000);
    while_pending = NULL;
    CHECK(idle_ms(blocks[30], 5000) == 0);
}

static void a_resized_block_counts_as_new(void) {
    watch_everything(1000);
    CHECK(ll_heap_reallocate(blocks[40], BLOCK_BYTES - 8, SITE).block == blocks[40]);
    CHECK(idle_ms(blocks[40], 5000) == 0);
}

static void the_allocator_touches_no_block(void) {
    enum { FREED = 64 };
    watch_everything(1000);
    uint64_t before = ll_pages.watch.touches;
    for (int i = BLOCKS / 2; i < BLOCKS / 2 + FREED; i += 2) {
        CHECK(ll_heap_release(blocks[i]));
        CHECK(ll_heap_usable_size(blocks[i + 1]) >= BLOCK_BYTES);
    }
    ll_watch_scan(&ll_pages.watch, &presence, test_clock);
    CHECK(ll_pages.watch.touches == before);
    CHECK(idle_ms(blocks[BLOCKS / 2 + 1], 5000) == 3999);
    for (int i = BLOCKS / 2; i < BLOCKS / 2 + FREED; i += 2) {
        blocks[i] = ll_heap_allocate(BLOCK_BYTES, SITE);
    }
}

static void what_a_look_reads_stays_idle(void) {
    static volatile long sum;
    watch_everything(1000);
    ll_pages_settle();
    for (int i = 0; i < BLOCKS; i++) {
        sum += blocks[i][0];
    }
    ll_pages_resume();
    CHECK(idle_ms(blocks[50], 5000) == 3999);
}

static void a_large_block_is_never_used_until_it_is(void) {
    enum { LARGE = 1 << 20 };
    char* large = ll_heap_allocate(LARGE, SITE);
    watch_everything(1000);
    uint64_t* state = ll_page_state((uintptr_t)large + LARGE / 2);
    CHECK((*state & LL_PAGE_SEEN) == 0);
    CHECK(idle_ms(large, 5000) == 3999);
    large[LARGE / 2] = 1;
    CHECK(idle_ms(large, 5000) == 0);
    CHECK((*state & LL_PAGE_SEEN) != 0);
    ll_heap_release(large);
}

static void pages_given_back_read_as_zeros(void) {
    enum { LARGE = 8 << 20 };
    char* large = ll_heap_allocate(LARGE, SITE);
    memset(large, 1, LARGE);
    uint64_t before = ll_backing_bytes();
    ll_heap_release(large);
    ll_heap_trim();
    CHECK(ll_backing_bytes() <= before - LARGE);
    char* zeroed = ll_heap_allocate_zeroed(LARGE, SITE);
    int not_zero = 0;
    for (int i = 0; i < LARGE; i++) {
        not_zero += zeroed[i] != 0;
    }
    CHECK(not_zero == 0);
    ll_heap_release(zeroed);
}

// Returns the child's exit status: 0 when it saw what it should.
static int child_sees_its_own_memory(void) {
    char before = blocks[60][1];
    memset(blocks[60], 'c', BLOCK_BYTES);
    usleep(20000);
    bool is_own = blocks[60][1] == 'c' && blocks[61][1] == before;
    char* born = ll_heap_allocate(BLOCK_BYTES, SITE);
    memset(born, 'n', BLOCK_BYTES);
    ll_heap_release(blocks[70]);
    return is_own && !ll_backing_is_shared() ? 0 : 1;
}

static void parent_and_child_do_not_share_the_heap(void) {
    int status = -1;
    memset(blocks[60], 'a', BLOCK_BYTES);
    memset(blocks[61], 'a', BLOCK_BYTES);
    watch_everything(1000);
    blocks[450][0]++;
    ll_pages_fork_prepare();
    ll_heap_fork_prepare();
    pid_t child = fork();
    if (child == 0) {
        ll_pages_fork_child();
        ll_heap_fork_child();
        _exit(child_sees_its_own_memory());
    }
    ll_heap_fork_parent();
    blocks[470][0]++;
    ll_pages_fork_parent();
    memset(blocks[61], 'p', BLOCK_BYTES);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(blocks[60][1] == 'a' && blocks[61][1] == 'p');
}

static void bounds_outlive_a_fork_that_copies(void) {
    CHECK(ll_pages.state == LL_TRACKING_active);
    CHECK(idle_ms(blocks[400], 5000) == 3999);
    CHECK(idle_ms(blocks[61], 5000) == 0);
    CHECK(idle_ms(blocks[450], 5000) == 0);
    CHECK(idle_ms(blocks[470], 5000) == 0);
    blocks[400][0]++;
    CHECK(idle_ms(blocks[400], 5000) == 0);
}

// The kernel's answer is written by hand, since no page migrates at will: a page that
// is on its way shows as one that was swapped out.
static void a_page_on_its_way_to_another_place_counts_as_touched(void) {
    struct ll_presence told = {.pagemap = memfd_create("pagemap", MFD_CLOEXEC),
                               .faults = LL_NO_FAULTS};
    uint64_t on_its_way = UINT64_C(1) << 62;
    off_t end = (off_t)((ll_page_states.start >> LL_PAGE_SHIFT) + ll_page_states.count);
    watch_everything(1000);
    CHECK(ftruncate(told.pagemap, end * (off_t)sizeof on_its_way) == 0);
    CHECK(pwrite(told.pagemap, &on_its_way, sizeof on_its_way,
                 (off_t)((uintptr_t)blocks[50] >> LL_PAGE_SHIFT) *
                     (off_t)sizeof on_its_way) == sizeof on_its_way);
    CHECK(ll_watch_scan(&ll_pages.watch, &told, test_clock));
    CHECK(idle_ms(blocks[50], 5000) == 0);
    CHECK(idle_ms(blocks[450], 5000) == 3999);
    close(told.pagemap);
}

// Whether the mapping of an address is one that the kernel makes no huge pages in.
static bool has_no_huge_pages(const void* address) {
    char line[4096];
    bool is_here = false;
    bool result = false;
    FILE* maps = fopen("/proc/self/smaps", "r");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        uintptr_t start;
        uintptr_t end;
        if (sscanf(line, "%lx-%lx ", &start, &end) == 2) {
            is_here = start <= (uintptr_t)address && (uintptr_t)address < end;
        } else if (is_here && strncmp(line, "VmFlags:", 8) == 0) {
            result = strstr(line, " nh") != NULL;
        }
    }
    if (maps != NULL) {
        fclose(maps);
    }
    return result;
}

static void no_huge_page_stands_for_many(void) {
    if (access("/sys/kernel/mm/transparent_hugepage", F_OK) != 0) {
        fprintf(stderr, "the system has no huge pages: their guard is untested\n");
        return;
    }
    void* large = ll_heap_allocate(16 << 20, SITE);
    CHECK(has_no_huge_pages(blocks[50]));
    CHECK(has_no_huge_pages(large));
    ll_heap_release(large);
}

static void nothing_is_idle_when_the_kernel_does_not_tell(void) {
    struct ll_presence refused = {.pagemap = -1, .can_scan = presence.can_scan};
    watch_everything(1000);
    CHECK(!ll_watch_scan(&ll_pages.watch, &refused, test_clock));
    CHECK(idle_ms(blocks[50], 5000) == 0);
}

static uint64_t reclaims;

static uint64_t count_reclaims(void) {
    return reclaims;
}

static void bounds_begin_anew_when_memory_was_reclaimed(void) {
    ll_pages.watch.reclaimed = count_reclaims;
    watch_everything(1000);
    CHECK(idle_ms(blocks[50], 5000) == 3999);
    time_ns = UINT64_C(5000) * 1000000;
    reclaims++;
    CHECK(idle_ms(blocks[50], 6000) == 999);
    CHECK(idle_ms(blocks[50], 7000) <= 1999);
    CHECK(idle_ms(blocks[50], 8000) == 2999);
}

static int readings;

// The number changes between the beginning and the end of the first scan, and then no
// more.
static uint64_t reclaim_during_first_scan(void) {
    return readings++ == 0 ? 0 : 1;
}

// Such a reclaim may concern pages that the scan had already passed.
static void a_reclaim_during_a_scan_counts_for_the_next(void) {
    ll_pages.watch.reclaimed = NULL;
    watch_everything(1000);
    ll_pages.watch.last_reclaimed = 0;
    ll_pages.watch.reclaimed = reclaim_during_first_scan;
    time_ns = UINT64_C(5000) * 1000000;
    CHECK(idle_ms(blocks[50], 6000) == 999);
    time_ns = UINT64_C(6000) * 1000000;
    CHECK(idle_ms(blocks[50], 7000) == 999);
    CHECK(idle_ms(blocks[50], 8000) == 1999);
    ll_pages.watch.reclaimed = NULL;
    ll_pages.watch.last_reclaimed = 0;
}

static void the_controller_follows_the_cost(void) {
    struct ll_watch watch = {.touch_ns = 1000, .watched_pages = 40, .target_pages = 40};
    ll_pace_adapt(&watch, 0, 100000000);
    CHECK(watch.target_pages > 40);
    watch.target_pages = watch.watched_pages = 100;
    ll_pace_adapt(&watch, 10000, 100000000);
    CHECK(watch.target_pages < 100);
    watch.target_pages = 100;
    ll_pace_adapt(&watch, 1000, 100000000);
    CHECK(watch.target_pages == 100);
    // There is room for more below one per cent, as much as touches leave.
    watch.target_pages = 100;
    watch.taken_of_late = watch.touched_of_late = 1000;
    ll_pace_adapt(&watch, 750, 100000000);
    CHECK(watch.target_pages > 100 && watch.target_pages <= 350);
}

// In 100 ms a thousand touches of a microsecond take one per cent.
static void pages_are_taken_out_at_the_rate_that_touches_permit(void) {
    enum { ELAPSED_NS = 100000000 };
    struct ll_watch watch = {.touch_ns = 999, .drop_ns = 100};
    CHECK(ll_pace_allowance(&watch, ELAPSED_NS) == 1000);
    ll_pace_note_taken(&watch, 999, 999 * UINT64_C(100));
    ll_pace_adapt(&watch, 499, ELAPSED_NS);
    CHECK(ll_pace_allowance(&watch, ELAPSED_NS) == 2000);
    for (int i = 0; i < 20; i++) {
        ll_pace_note_taken(&watch, 1000, 1000 * UINT64_C(100));
        ll_pace_adapt(&watch, 0, ELAPSED_NS);
    }
    uint64_t at_most = ELAPSED_NS / 50 / watch.drop_ns;
    CHECK(ll_pace_allowance(&watch, ELAPSED_NS) == at_most);
    ll_pace_adapt(&watch, 1000000, ELAPSED_NS);
    CHECK(ll_pace_allowance(&watch, ELAPSED_NS) == 1000);
}

// What was idle before is not known either: the device may have written at any time.
static void asynchronous_io_ends_the_watch(void) {
    unsigned long io = 0;
    watch_everything(1000);
    CHECK(ll_pages_scan(&presence, test_clock));
    if (syscall(SYS_io_setup, 8, &io) != 0) {
        fprintf(stderr, "the system has no asynchronous I/O: its guard is untested\n");
        return;
    }
    CHECK(!ll_pages_scan(&presence, test_clock));
    CHECK(ll_pages.state == LL_TRACKING_ended && ll_pages.watch.watched_pages == 0);
    syscall(SYS_io_destroy, io);
    CHECK(!ll_pages_scan(&presence, test_clock));
}

static void fill(void) {
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = ll_heap_allocate(BLOCK_BYTES, SITE);
        memset(blocks[i], i, BLOCK_BYTES);
    }
}

int main(void) {
    if (!ll_pages_prepare()) {
        fprintf(stderr, "this system does not tell touches: nothing was tested\n");
        return 1;
    }
    CHECK(ll_heap_start());
    CHECK(ll_presence_open(&presence));
    a_block_of_the_common_heap_is_not_idle_for_longer();
    fill();
    CHECK(ll_presence_single_out(&presence, ll_page_states.start,
                                 ll_page_states.count << LL_PAGE_SHIFT) ||
          ll_pages.is_coarse);
    untouched_blocks_are_idle_and_touched_ones_are_not();
    a_system_call_is_a_touch();
    a_touch_before_the_time_is_taken_shows();
    a_block_is_not_idle_for_longer_than_it_exists();
    a_block_born_while_its_page_is_taken_out_is_not_watched();
    a_resized_block_counts_as_new();
    the_allocator_touches_no_block();
    what_a_look_reads_stays_idle();
    a_large_block_is_never_used_until_it_is();
    a_large_block_is_not_idle_for_longer_than_it_exists();
    what_was_used_before_it_was_watched_is_not_never_used();
    no_more_is_taken_out_at_once_than_asked_for();
    a_page_that_was_touched_is_left_alone_for_a_while();
    a_birth_on_a_watched_page_counts_as_a_touch();
    pages_given_back_read_as_zeros();
    a_page_on_its_way_to_another_place_counts_as_touched();
    no_huge_page_stands_for_many();
    nothing_is_idle_when_the_kernel_does_not_tell();
    bounds_begin_anew_when_memory_was_reclaimed();
    a_reclaim_during_a_scan_counts_for_the_next();
    the_controller_follows_the_cost();
    pages_are_taken_out_at_the_rate_that_touches_permit();
    parent_and_child_do_not_share_the_heap();
    bounds_outlive_a_fork_that_copies();
    asynchronous_io_ends_the_watch();
    return failures != 0;
}
