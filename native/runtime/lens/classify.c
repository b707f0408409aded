#include "lens/classify.h"

#include "format/records.h"
#include "lens/picks.h"
#include "lens/ring_order.h"
#include "lens/stamps.h"

// A *leader* is a lost block; what only leaders lead to is indirectly lost.
struct classifier {
    struct ll_marker* marker;
    struct ll_tally* tally;
    struct ll_picks rings; // the block by which each ring was entered
    struct ll_classified result;
    // The leader whose flood is going on, and what it has led to so far.
    uint32_t leader_stack;
    uint64_t led_blocks;
    uint64_t led_bytes;
};

static ll_block_visitor count_reached_or_point;
static ll_block_visitor lead_if_not_pointed;
static void enter_rings(struct classifier* classifier);
static void lead_from_rings(struct classifier* classifier);

// Every block that no other unreached block points to is a leader. What no leader leads
// to lies in rings or behind rings. Each ring is entered at the block that lost a
// reference last, or at its lowest address when losses are not stamped, by a flood that
// passes over what earlier floods met. So a ring that leads to an earlier one is
// entered later, never the other way round: had the earlier ring led to the later, its
// flood would have met it. Leading in reverse order of the entries therefore meets
// every ring that another one leads to before its own turn comes, and leaves one leader
// for each ring that none leads to.
struct ll_classified ll_classify(struct ll_marker* marker, struct ll_tally* tally) {
    struct classifier classifier = {.marker = marker, .tally = tally};
    ll_heap_visit(count_reached_or_point, &classifier);
    ll_heap_visit(lead_if_not_pointed, &classifier);
    enter_rings(&classifier);
    lead_from_rings(&classifier);
    return classifier.result;
}

// Marks the unreached block that a word of another one points to.
static void point_if_unreached(uintptr_t word, void* context) {
    const struct ll_block* source = context;
    struct ll_block target;
    if (!ll_is_heap_address(word) || !ll_block_at(word, &target) ||
        ll_block_mark(target) != LL_MARK_UNREACHED) {
        return;
    }
    bool itself = target.span == source->span && target.index == source->index;
    if (!itself && !ll_block_is_inherited(target)) {
        ll_block_set_mark(target, LL_MARK_POINTED);
    }
}

// An unreached block inherited from the parent is the parent's to report. It leads
// nowhere, so that what this process hung on it counts as lost.
static bool count_reached_or_point(struct ll_block block, void* context) {
    struct classifier* classifier = context;
    if (ll_block_is_inherited(block)) {
        ll_block_set_mark(block, LL_MARK_REACHED);
    } else if (ll_block_mark(block) == LL_MARK_REACHED) {
        bool ignored = ll_block_is_ignored(block);
        uint32_t kind = ignored ? LL_GROUP_ignored : LL_GROUP_reachable;
        ll_tally_add(classifier->tally, block, kind, 0);
    } else {
        ll_marker_visit_words(classifier->marker, block, point_if_unreached, &block);
    }
    return true;
}

static void count_led(struct ll_block block, void* context) {
    struct classifier* classifier = context;
    classifier->led_blocks++;
    classifier->led_bytes += ll_block_size(block);
    ll_tally_add(classifier->tally, block, LL_GROUP_indirect, classifier->leader_stack);
}

// Counts a lost block and all blocks with the mark `met` that it leads to.
static void lead(struct classifier* classifier, struct ll_block block, unsigned met,
                 unsigned pending) {
    struct ll_flood flood = {
        .next = {LL_MARK_UNREACHED, LL_MARK_REACHED, LL_MARK_POINTED, LL_MARK_CIRCLED},
        .pending = (uint8_t)pending,
        .settled = LL_MARK_REACHED,
        .met = count_led,
        .context = classifier,
    };
    flood.next[met] = LL_MARK_REACHED;
    ll_block_set_mark(block, LL_MARK_REACHED);
    classifier->result.lost_blocks++;
    classifier->leader_stack = ll_block_site(block);
    classifier->led_blocks = 0;
    classifier->led_bytes = 0;
    ll_marker_use(classifier->marker, &flood);
    ll_mark_contents(classifier->marker, block);
    ll_mark_finish(classifier->marker);
    ll_tally_add(classifier->tally, block, LL_GROUP_lost, 0);
    if (classifier->led_blocks > 0) {
        ll_tally_add_led(classifier->tally, block, classifier->led_blocks,
                         classifier->led_bytes);
    }
}

static bool lead_if_not_pointed(struct ll_block block, void* context) {
    if (ll_block_mark(block) == LL_MARK_UNREACHED) {
        lead(context, block, LL_MARK_POINTED, LL_MARK_CIRCLED);
    }
    return true;
}

static bool enter_ring(struct ll_block block, void* context) {
    static const struct ll_flood circle = {
        .next = {LL_MARK_UNREACHED, LL_MARK_REACHED, LL_MARK_CIRCLED, LL_MARK_CIRCLED},
        .pending = LL_MARK_UNREACHED,
        .settled = LL_MARK_CIRCLED,
    };
    struct classifier* classifier = context;
    if (ll_block_mark(block) != LL_MARK_POINTED) {
        return true;
    }
    if (!ll_picks_push(&classifier->rings, ll_block_start(block))) {
        classifier->result.unordered_rings++;
        lead(classifier, block, LL_MARK_POINTED, LL_MARK_UNREACHED);
        return true;
    }
    ll_block_set_mark(block, LL_MARK_CIRCLED);
    ll_marker_use(classifier->marker, &circle);
    ll_mark_contents(classifier->marker, block);
    ll_mark_finish(classifier->marker);
    return true;
}

static bool add_ring_block(struct ll_block block, void* context) {
    struct ll_ring_order* order = context;
    if (ll_block_mark(block) != LL_MARK_POINTED) {
        return true;
    }
    uintptr_t start = ll_block_start(block);
    struct ll_stamp stamp = ll_stamp_latest(start, ll_block_size(block));
    return ll_ring_order_add(order, start, stamp.clock);
}

// Blocks that found no place in the order are entered last, by address.
static void enter_rings(struct classifier* classifier) {
    if (ll_stamps_on) {
        struct ll_ring_order order = {0};
        ll_heap_visit(add_ring_block, &order);
        ll_ring_order_sort(&order);
        for (size_t i = 0; i < order.count; i++) {
            struct ll_block block;
            if (ll_block_at(order.blocks[i].start, &block)) {
                enter_ring(block, classifier);
            }
        }
        ll_ring_order_release(&order);
    }
    ll_heap_visit(enter_ring, classifier);
}

static void lead_from_rings(struct classifier* classifier) {
    uintptr_t start;
    struct ll_block block;
    while (ll_picks_pop(&classifier->rings, &start)) {
        if (ll_block_at(start, &block) && ll_block_mark(block) == LL_MARK_CIRCLED) {
            lead(classifier, block, LL_MARK_CIRCLED, LL_MARK_POINTED);
        }
    }
}
