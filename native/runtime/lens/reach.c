#include "lens/reach.h"

#include <string.h>
#include <time.h>

#include "base/options.h"
#include "format/records.h"
#include "heap/inspect.h"
#include "lens/classify.h"
#include "lens/held.h"
#include "lens/injector.h"
#include "lens/loss.h"
#include "lens/mark.h"
#include "lens/mark_roots.h"
#include "lens/ordinals.h"
#include "lens/pages.h"
#include "lens/references.h"
#include "lens/stack_records.h"
#include "lens/stamps.h"
#include "lens/stopped_frames.h"
#include "lens/tally.h"
#include "lens/touches.h"
#include "os/syscall.h"
#include "patch/births.h"
#include "record/recording.h"

// The stack of a flood, relative to the heap; pages it does not need are not touched.
enum { STACK_SHARE = 128, STACK_LEAST = 1 << 20 };

struct sight {
    struct ll_heap_totals totals;
    struct ll_tally tally;
    struct ll_stopped_frames frames; // empty unless dead slots are asked for
    struct ll_held held;             // what they hold
    struct ll_references references; // empty unless asked for
    struct ll_roots_seen roots;
    struct ll_classified classified;
    uint64_t mark_ns;
    bool had_memory;
};

static void write_begin(const struct ll_look* look, const struct ll_world* world);
static void mark_and_classify(struct sight* sight, const struct ll_look* look,
                              const struct ll_world* world);
static void write_not_seen(const struct sight* sight, const struct ll_world* world);
static uint32_t write_groups(struct ll_groups* groups);
static void write_totals(const struct sight* sight);

uint64_t ll_reach_look(const struct ll_look* look, const struct ll_world* world) {
    struct sight sight = {.totals = ll_heap_totals(),
                          .tally.only_lost_by_stack = !ll_options.reachable,
                          .tally.touched.now_ns = look->cpu_ns,
                          .tally.touched.look = look->number};
    write_begin(look, world);
    if (ll_reach_is_wanted()) {
        mark_and_classify(&sight, look, world);
    } else {
        sight.had_memory = true;
        sight.roots.complete = true;
    }
    write_not_seen(&sight, world);
    uint32_t groups = write_groups(&sight.tally.groups);
    ll_held_write(&sight.held, &sight.frames);
    ll_references_write(&sight.references);
    ll_pages_write();
    ll_injector_write();
    if (ll_touches_on) {
        ll_touched_write(&sight.tally.touched);
    }
    write_totals(&sight);
    struct ll_record_snapshot_end end = {.number = look->number, .groups = groups};
    ll_record(LL_RECORD_snapshot_end, &end, sizeof end, NULL, 0);
    ll_recording_flush();
    ll_groups_release(&sight.tally.groups);
    ll_held_release(&sight.held);
    ll_stopped_frames_release(&sight.frames);
    return sight.classified.lost_blocks;
}

bool ll_reach_is_wanted(void) {
    return ll_options_have_lens("reach") || ll_options_have_lens("loss") ||
           !ll_options_have_lens("pages");
}

static uint64_t clock_ns(clockid_t clock) {
    struct timespec now = {0};
    (void)ll_syscall(SYS_clock_gettime, clock, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static void write_begin(const struct ll_look* look, const struct ll_world* world) {
    struct ll_record_snapshot_begin begin = {
        .number = look->number,
        .trigger = look->trigger,
        .signal = look->signal,
        .threads = (uint32_t)world->count + 1,
        .realtime_ns = clock_ns(CLOCK_REALTIME),
        .cpu_ns = look->cpu_ns,
        .request = look->request,
    };
    ll_record(LL_RECORD_snapshot_begin, &begin, sizeof begin, NULL, 0);
}

static bool mark_ignored(struct ll_block block, void* marker) {
    if (ll_block_is_ignored(block)) {
        ll_mark_word(marker, ll_block_start(block));
    }
    return true;
}

static void mark(struct sight* sight, struct ll_marker* marker,
                 const struct ll_look* look, const struct ll_world* world,
                 struct ll_stopped_frames* frames) {
    static const struct ll_flood reach = {
        .next = {LL_MARK_REACHED, LL_MARK_REACHED, LL_MARK_POINTED, LL_MARK_CIRCLED},
        .pending = LL_MARK_POINTED,
        .settled = LL_MARK_REACHED,
    };
    ll_heap_clear_marks();
    ll_marker_use(marker, &reach);
    ll_heap_visit(mark_ignored, marker);
    sight->roots = ll_mark_roots(marker, look, world, frames);
    ll_mark_finish(marker);
}

bool ll_reach_holds(const struct ll_look* look, const struct ll_world* world,
                    uintptr_t address) {
    struct sight sight = {.totals = ll_heap_totals()};
    struct ll_block block;
    size_t stack_bytes = sight.totals.mapped_bytes / STACK_SHARE;
    struct ll_marker* marker =
        ll_marker_start(stack_bytes > STACK_LEAST ? stack_bytes : STACK_LEAST);
    if (marker == NULL) {
        return true;
    }
    mark(&sight, marker, look, world, NULL);
    ll_marker_end(marker);
    return !sight.roots.complete || !ll_block_at(address, &block) ||
           ll_block_mark(block) == LL_MARK_REACHED;
}

// What the stacks' frames hold is marked apart, if that can be done with little memory.
static void mark_with_held(struct sight* sight, struct ll_marker* marker,
                           const struct ll_look* look, const struct ll_world* world) {
    mark(sight, marker, look, world, &sight->frames);
    if (!ll_held_find(&sight->held, marker, &sight->frames)) {
        ll_held_release(&sight->held);
        mark(sight, marker, look, world, NULL);
    }
}

// What cannot be marked cannot be judged: without roots nothing is counted, rather than
// every block as lost.
static void mark_and_classify(struct sight* sight, const struct ll_look* look,
                              const struct ll_world* world) {
    size_t stack_bytes = sight->totals.mapped_bytes / STACK_SHARE;
    struct ll_marker* marker =
        ll_marker_start(stack_bytes > STACK_LEAST ? stack_bytes : STACK_LEAST);
    sight->had_memory = marker != NULL;
    if (marker == NULL) {
        return;
    }
    uint64_t started_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    if (ll_options.dead_slots) {
        mark_with_held(sight, marker, look, world);
    } else {
        mark(sight, marker, look, world, NULL);
    }
    if (ll_options.references) {
        ll_references_find(&sight->references);
    }
    if (sight->roots.complete) {
        sight->classified = ll_classify(marker, &sight->tally);
    }
    sight->mark_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - started_ns;
    ll_marker_end(marker);
}

static void say_not_seen(uint32_t reason, uint32_t detail, const char* sentence) {
    struct ll_record_not_seen record = {.reason = reason, .detail = detail};
    ll_record(LL_RECORD_not_seen, &record, sizeof record, sentence, strlen(sentence));
}

static void write_not_seen(const struct sight* sight, const struct ll_world* world) {
    for (size_t i = 0; i < world->count; i++) {
        if (!world->threads[i].stopped) {
            say_not_seen(LL_NOT_SEEN_thread, (uint32_t)world->threads[i].tid,
                         "a thread could not be stopped; blocks that only its "
                         "registers held may be reported as lost");
        }
    }
    if (!sight->had_memory) {
        say_not_seen(LL_NOT_SEEN_memory, 0,
                     "no memory was left to look for lost blocks");
    } else if (!sight->roots.complete) {
        say_not_seen(LL_NOT_SEEN_roots, 0,
                     "the memory of the process could not be listed, so lost blocks "
                     "could not be looked for");
    }
    if (sight->roots.unread_bytes > 0) {
        say_not_seen(LL_NOT_SEEN_roots, 0,
                     "some memory could not be read; blocks that only it held may be "
                     "reported as lost");
    }
    if (sight->tally.groups.dropped > 0) {
        say_not_seen(LL_NOT_SEEN_memory, 0,
                     "memory ran out while blocks were counted; some are missing");
    }
    if (sight->classified.unordered_rings > 0) {
        say_not_seen(LL_NOT_SEEN_memory, 0,
                     "memory ran out while rings of lost blocks were sorted; some "
                     "count as lost that others lead to");
    }
}

// Losses that a second run can meet again: those of local variables, of single stores,
// and by calls that free.
static bool is_refinable(const struct ll_group_key* key) {
    return key->kind == LL_GROUP_lost && (key->cause == LL_CAUSE_not_in_memory ||
                                          key->cause == LL_CAUSE_overwritten ||
                                          key->cause == LL_CAUSE_container_freed);
}

// One block of a group, for a second run.
static void write_refinable(const struct ll_group* group) {
    if (!ll_ordinals_on || !is_refinable(&group->key)) {
        return;
    }
    struct ll_record_refinable record = {.stack = group->key.stack,
                                         .ordinal = ll_ordinal_of(group->address)};
    ll_record(LL_RECORD_refinable, &record, sizeof record, NULL, 0);
}

// That of one block stands for its group: births do not make more groups.
static void write_birth(const struct ll_group* group) {
    struct ll_block block;
    if (!ll_births_on || group->key.kind != LL_GROUP_lost ||
        !ll_block_at(group->address, &block)) {
        return;
    }
    struct ll_record_birth record = {.address = group->address,
                                     .birth = ll_loss_birth(block)};
    if (record.birth != 0) {
        ll_stack_records_write(record.birth);
        ll_record(LL_RECORD_birth, &record, sizeof record, NULL, 0);
    }
}

static uint32_t write_groups(struct ll_groups* groups) {
    const struct ll_group* group = ll_groups_sorted(groups);
    for (size_t i = 0; i < groups->count; i++, group++) {
        ll_stack_records_write(group->key.stack);
        ll_stack_records_write(group->key.leader);
        ll_stack_records_write(group->key.loss);
        struct ll_record_group record = {
            .kind = group->key.kind,
            .stack = group->key.stack,
            .leader = group->key.leader,
            .loss = group->key.loss,
            .cause = group->key.cause,
            .loss_offset = group->key.loss_offset,
            .blocks = group->blocks,
            .bytes = group->bytes,
            .indirect_blocks = group->indirect_blocks,
            .indirect_bytes = group->indirect_bytes,
            .address = group->address,
        };
        ll_record(LL_RECORD_group, &record, sizeof record, NULL, 0);
        write_refinable(group);
        write_birth(group);
    }
    return (uint32_t)groups->count;
}

static void write_totals(const struct sight* sight) {
    struct ll_record_heap_totals totals = {
        .live_blocks = sight->totals.live_blocks,
        .live_bytes = sight->totals.live_bytes,
        .allocations = sight->totals.allocations,
        .frees = sight->totals.frees,
        .peak_bytes = sight->totals.peak_bytes,
        .mapped_bytes = sight->totals.mapped_bytes,
        .mark_ns = sight->mark_ns,
    };
    ll_record(LL_RECORD_heap_totals, &totals, sizeof totals, NULL, 0);
}
