// What a look writes of lens `pages`: blocks counted by allocation stack and by how
// long they have been idle, in steps of an eighth of a doubling, rounded down.
#include <string.h>

#include "base/options.h"
#include "format/records.h"
#include "heap/page_states.h"
#include "lens/group.h"
#include "lens/pages.h"
#include "lens/pages_clocks.h"
#include "lens/pages_merge.h"
#include "lens/pages_state.h"
#include "lens/pages_touches.h"
#include "lens/stack_records.h"
#include "os/backing.h"
#include "os/footprint.h"
#include "os/shelves.h"
#include "record/recording.h"

enum { STEPS_SHIFT = 3, STEPS = 1 << STEPS_SHIFT };

// How long some bytes have been idle; `flags` are LL_IDLE_*, `last_touch` is the node
// of the last touch that was noted, or 0.
struct idle {
    uint64_t lower_ms;
    uint32_t flags;
    uint32_t last_touch;
};

struct census {
    uint64_t now_ms;
    struct ll_groups groups;
};

static uint64_t bucket_of(uint64_t ms) {
    if (ms < STEPS) {
        return ms;
    }
    unsigned top = 63 - (unsigned)__builtin_clzll(ms);
    return ((uint64_t)(top - STEPS_SHIFT + 1) << STEPS_SHIFT) +
           ((ms >> (top - STEPS_SHIFT)) & (STEPS - 1));
}

static uint64_t bucket_start(uint64_t bucket) {
    if (bucket < STEPS) {
        return bucket;
    }
    uint64_t doubling = (bucket >> STEPS_SHIFT) - 1;
    return (STEPS + (bucket & (STEPS - 1))) << doubling;
}

// A millisecond less, since both times are cut to milliseconds.
static struct idle idle_of_page(uintptr_t address, uint64_t now_ms) {
    uint64_t state = __atomic_load_n(ll_page_state(address), __ATOMIC_RELAXED);
    uint64_t time = state & LL_PAGE_TIME;
    struct idle idle = {.flags = LL_IDLE_lower,
                        .last_touch = ll_page_touches_last(address)};
    if (time >= LL_PAGE_FIRST && now_ms > time - LL_PAGE_FIRST) {
        idle.lower_ms = now_ms - (time - LL_PAGE_FIRST) - 1;
        idle.flags |= (state & LL_PAGE_SEEN) == 0 ? LL_IDLE_never_used : 0;
    }
    return idle;
}

static struct idle least_idle(struct idle one, struct idle other) {
    return (struct idle){
        .lower_ms = one.lower_ms < other.lower_ms ? one.lower_ms : other.lower_ms,
        .flags = one.flags & other.flags,
        .last_touch = other.lower_ms < one.lower_ms || one.last_touch == 0
                          ? other.last_touch
                          : one.last_touch,
    };
}

static struct idle idle_of(struct ll_block block, uint64_t now_ms) {
    uintptr_t start = ll_block_start(block);
    size_t size = ll_block_size(block);
    uintptr_t last = start + (size > 0 ? size - 1 : 0);
    struct idle idle = idle_of_page(start, now_ms);
    for (uintptr_t page = (start >> LL_PAGE_SHIFT) + 1; page <= last >> LL_PAGE_SHIFT;
         page++) {
        idle = least_idle(idle, idle_of_page(page << LL_PAGE_SHIFT, now_ms));
    }
    return idle;
}

bool ll_pages_idle_ns(struct ll_block block, uint64_t* lower_ns) {
    if (ll_pages.state != LL_TRACKING_active) {
        return false;
    }
    *lower_ns = idle_of(block, ll_pages.now_ms).lower_ms * 1000000;
    return true;
}

static void count(struct census* census, ll_site site, struct idle idle,
                  uint64_t blocks, uint64_t bytes) {
    struct ll_group_key key = {
        .kind = (uint32_t)bucket_of(idle.lower_ms) + 1,
        .stack = site,
        .loss = idle.last_touch,
        .cause = idle.flags,
    };
    struct ll_group* group = ll_groups_find(&census->groups, &key);
    if (group == NULL) {
        return;
    }
    group->blocks += blocks;
    group->bytes += bytes;
    group->indirect_bytes += bytes * idle.lower_ms;
    if (idle.lower_ms > group->indirect_blocks) {
        group->indirect_blocks = idle.lower_ms;
    }
}

// A large block is counted where its most recently used page is, unless it was never
// used at all; bytes on pages that
// have been idle for longer are counted there, without the block.
static void count_large(struct census* census, struct ll_block block,
                        struct idle whole) {
    ll_site site = ll_block_site(block);
    uintptr_t at = ll_block_start(block);
    uintptr_t end = at + ll_block_size(block);
    uint64_t with_block = 0;
    if ((whole.flags & LL_IDLE_never_used) != 0) {
        count(census, site, whole, 1, end - at);
        return;
    }
    while (at < end) {
        uintptr_t next = ((at >> LL_PAGE_SHIFT) + 1) << LL_PAGE_SHIFT;
        next = next < end ? next : end;
        struct idle part = idle_of_page(at, census->now_ms);
        if (bucket_of(part.lower_ms) > bucket_of(whole.lower_ms)) {
            part.flags |= LL_IDLE_part;
            count(census, site, part, 0, next - at);
        } else {
            with_block += next - at;
        }
        at = next;
    }
    count(census, site, whole, 1, with_block);
}

static void write_raw_block(struct ll_block block, struct idle idle) {
    struct ll_record_raw_block record = {
        .stack = ll_block_site(block),
        .flags = idle.flags,
        .address = ll_block_start(block),
        .size = ll_block_size(block),
        .lower_ms = idle.lower_ms,
    };
    ll_stack_records_write(record.stack);
    ll_record(LL_RECORD_raw_block, &record, sizeof record, NULL, 0);
}

// Live blocks of a span that start on a page of it.
static uint32_t blocks_on_page(const struct ll_span* span, uintptr_t page) {
    uint32_t count = 0;
    uint32_t size = span->block_size;
    uint32_t index = 0;
    if (size != 0 && page > span->start) {
        index = (uint32_t)((page - span->start + size - 1) / size);
    }
    for (; index < span->capacity; index++) {
        uintptr_t start = span->start + (uintptr_t)index * size;
        if (start >= page + ((uintptr_t)1 << LL_PAGE_SHIFT)) {
            break;
        }
        count += start >= page && ll_word_is_live(span, index);
    }
    return count;
}

static void write_raw_pages(uint64_t now_ms) {
    for (size_t page = 0; page < ll_page_states.count; page++) {
        uintptr_t address = ll_page_states.start + (page << LL_PAGE_SHIFT);
        const struct ll_span* span = ll_span_of((void*)address);
        if (span->kind != LL_SPAN_SMALL && span->kind != LL_SPAN_LARGE) {
            continue;
        }
        struct idle idle = idle_of_page(address, now_ms);
        struct ll_record_raw_page record = {
            .address = address,
            .lower_ms = idle.lower_ms,
            .blocks = blocks_on_page(span, address),
            .flags = idle.flags,
        };
        ll_record(LL_RECORD_raw_page, &record, sizeof record, NULL, 0);
    }
}

static bool count_block(struct ll_block block, void* context) {
    struct census* census = context;
    if (ll_block_is_ignored(block) || ll_block_is_inherited(block)) {
        return true;
    }
    struct idle idle = idle_of(block, census->now_ms);
    if (block.span->block_size == 0) {
        count_large(census, block, idle);
    } else {
        count(census, ll_block_site(block), idle, 1, ll_block_size(block));
    }
    if (ll_options.raw_blocks) {
        write_raw_block(block, idle);
    }
    return true;
}

static void write_groups(struct ll_groups* groups) {
    const struct ll_group* group = ll_groups_sorted(groups);
    for (size_t i = 0; i < groups->count; i++, group++) {
        ll_stack_records_write(group->key.stack);
        ll_stack_records_write(group->key.loss);
        struct ll_record_idle record = {
            .stack = group->key.stack,
            .last_use = group->key.loss,
            .flags = group->key.cause,
            .lower_ms = bucket_start(group->key.kind - 1),
            .longest_ms = group->indirect_blocks,
            .blocks = group->blocks,
            .bytes = group->bytes,
            .drag_byte_ms = group->indirect_bytes,
        };
        ll_record(LL_RECORD_idle, &record, sizeof record, NULL, 0);
    }
}

static void write_tracking(void) {
    struct ll_record_tracking record = {
        .state = ll_pages.state,
        .resolution_pages = ll_pages.is_coarse ? 16 : 1,
        .touch_ns = ll_pages.watch.touch_ns,
        .scans = ll_pages.watch.scans,
        .touches = ll_pages.watch.touches,
        .watched_pages = ll_pages.watch.watched_pages,
        .pages = ll_page_states.count,
        .resident_bytes = ll_backing_bytes(),
        .scan_ns = ll_pages.watch.scan_ns,
        .now_ms = ll_pages.now_ms,
    };
    ll_record(LL_RECORD_tracking, &record, sizeof record, NULL, 0);
}

static void write_merging(void) {
    if (!ll_merging.is_on) {
        return;
    }
    struct ll_shelves_totals totals = ll_shelves_totals();
    struct ll_record_merging record = {
        .merged_pages = totals.merged_pages,
        .shelves = totals.shelves,
        .emptied_pages = ll_merging.emptied_pages,
        .footprint_bytes = ll_footprint_bytes(),
        .passes = ll_merging.passes,
        .stopped_ns = ll_merging.stopped_ns,
        .longest_stop_ns = ll_merging.longest_ns,
    };
    ll_record(LL_RECORD_merging, &record, sizeof record, NULL, 0);
}

static void say_not_seen(const char* sentence) {
    struct ll_record_not_seen record = {.reason = LL_NOT_SEEN_staleness};
    ll_record(LL_RECORD_not_seen, &record, sizeof record, sentence, strlen(sentence));
}

void ll_pages_write(void) {
    if (ll_pages.state == 0) {
        return;
    }
    write_tracking();
    ll_page_touches_write();
    write_merging();
    if (ll_pages.ended != NULL) {
        say_not_seen(ll_pages.ended);
    }
    if (ll_pages.state != LL_TRACKING_active) {
        return;
    }
    if (ll_pages.is_coarse) {
        say_not_seen("a touch shows on up to 16 neighbouring pages (userfaultfd is not "
                     "permitted), so idle blocks near used ones are not seen");
    }
    if (ll_pages.watch.has_begun_anew) {
        say_not_seen("the system has swapped memory out, or does not tell whether it "
                     "has, so idle times were counted anew each time");
    }
    struct census census = {.now_ms = ll_pages.now_ms};
    if (ll_options.raw_blocks) {
        write_raw_pages(census.now_ms);
    }
    ll_heap_visit(count_block, &census);
    if (census.groups.dropped > 0) {
        say_not_seen("memory ran out while idle blocks were counted; some are missing");
    }
    ll_page_clocks_write(census.now_ms);
    write_groups(&census.groups);
    ll_groups_release(&census.groups);
}
