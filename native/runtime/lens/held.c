#include "lens/held.h"

#include <string.h>

#include "base/attributes.h"
#include "lens/classify.h"
#include "os/memory.h"

// Marks while the sets are followed one after the other. What a second set leads to as
// well is held by both and becomes plainly reached, with all that it leads to.
enum {
    BY_EARLIER_SET = LL_MARK_POINTED,
    BY_THIS_SET = LL_MARK_CIRCLED,
};

// A set that holds more blocks than this holds a data structure of the program, and
// not the remains of a call.
enum { BLOCKS_MAX = 1 << 15 };

static bool collect_slots(struct ll_held* held, const struct ll_stopped_frames* frames);
static void sort_into_sets(struct ll_held* held);
static bool follow_set(struct ll_marker* marker, uintptr_t block, uintptr_t* met);
static void count_set(struct ll_held* held, struct ll_marker* marker,
                      const struct ll_held_slot* slot);

bool ll_held_find(struct ll_held* held, struct ll_marker* marker,
                  const struct ll_stopped_frames* frames) {
    uintptr_t* met = ll_memory_map(BLOCKS_MAX * sizeof *met);
    bool complete = met != NULL && collect_slots(held, frames);
    sort_into_sets(held);
    for (size_t i = 0; complete && i < held->count; i++) {
        if (i == 0 || held->slots[i].set != held->slots[i - 1].set) {
            complete = follow_set(marker, held->slots[i].block, met);
        }
    }
    for (size_t i = 0; complete && i < held->count; i++) {
        count_set(held, marker, &held->slots[i]);
    }
    if (met != NULL) {
        ll_memory_unmap(met, BLOCKS_MAX * sizeof *met);
    }
    return complete;
}

static bool add_slot(struct ll_held* held, struct ll_held_slot slot) {
    if (held->count == held->capacity) {
        size_t capacity = held->capacity == 0 ? 1024 : held->capacity * 2;
        struct ll_held_slot* slots = ll_memory_map(capacity * sizeof slot);
        if (slots == NULL) {
            return false;
        }
        if (held->slots != NULL) {
            memcpy(slots, held->slots, held->count * sizeof slot);
            ll_memory_unmap(held->slots, held->capacity * sizeof slot);
        }
        held->slots = slots;
        held->capacity = capacity;
    }
    held->slots[held->count++] = slot;
    return true;
}

static bool collect_slots(struct ll_held* held,
                          const struct ll_stopped_frames* frames) {
    for (uint32_t i = 0; i < frames->count; i++) {
        const struct ll_stack_frame* frame = &frames->list[i];
        for (uintptr_t at = frame->start; at < frame->cfa; at += sizeof(uintptr_t)) {
            uintptr_t word = *(const uintptr_t*)at;
            struct ll_block block;
            if (!ll_is_heap_address(word) || !ll_block_at(word, &block) ||
                ll_block_mark(block) != LL_MARK_UNREACHED) {
                continue;
            }
            struct ll_held_slot slot = {
                .address = at, .block = ll_block_start(block), .frame = i};
            if (!add_slot(held, slot)) {
                return false;
            }
        }
    }
    return true;
}

static bool before(const struct ll_held_slot* a, const struct ll_held_slot* b) {
    return a->block != b->block ? a->block < b->block : a->address < b->address;
}

static void sort_into_sets(struct ll_held* held) {
    for (size_t step = held->count / 2; step > 0; step /= 2) {
        for (size_t i = step; i < held->count; i++) {
            struct ll_held_slot moved = held->slots[i];
            size_t at = i;
            for (; at >= step && before(&moved, &held->slots[at - step]); at -= step) {
                held->slots[at] = held->slots[at - step];
            }
            held->slots[at] = moved;
        }
    }
    uint32_t set = 0;
    for (size_t i = 0; i < held->count; i++) {
        set += i == 0 || held->slots[i].block != held->slots[i - 1].block;
        held->slots[i].set = set;
    }
}

// The blocks that the set at hand met first, so that they can be marked once more when
// all are known.
struct following {
    struct ll_marker* marker;
    uintptr_t* met;
    size_t count;
};

static void mark_all(const struct following* following, unsigned mark) {
    for (size_t i = 0; i < following->count; i++) {
        struct ll_block block;
        if (ll_block_at(following->met[i], &block)) {
            ll_block_set_mark(block, mark);
        }
    }
}

static void keep(struct ll_block block, void* context) {
    static const struct ll_flood reach_all = {
        .next = {LL_MARK_REACHED, LL_MARK_REACHED, LL_MARK_REACHED, BY_THIS_SET},
        .pending = BY_THIS_SET,
        .settled = LL_MARK_REACHED,
    };
    struct following* following = context;
    if (ll_block_mark(block) != BY_THIS_SET) {
        return;
    }
    if (following->count < BLOCKS_MAX) {
        following->met[following->count++] = ll_block_start(block);
        return;
    }
    // Too many: this and all further ones are plainly reached.
    ll_block_set_mark(block, LL_MARK_REACHED);
    mark_all(following, LL_MARK_REACHED);
    following->count = 0;
    ll_marker_use(following->marker, &reach_all);
}

// No mark is to spare for blocks that do not fit on the stack.
static bool follow_set(struct ll_marker* marker, uintptr_t block, uintptr_t* met) {
    struct following following = {.marker = marker, .met = met};
    struct ll_flood flood = {
        .next = {BY_THIS_SET, LL_MARK_REACHED, LL_MARK_REACHED, BY_THIS_SET},
        .pending = BY_THIS_SET,
        .settled = BY_THIS_SET,
        .met = keep,
        .context = &following,
    };
    ll_marker_use(marker, &flood);
    ll_mark_word(marker, block);
    bool complete = ll_mark_finish(marker);
    mark_all(&following, BY_EARLIER_SET);
    return complete;
}

struct counting {
    struct ll_groups* groups;
    const struct ll_held_slot* slot;
};

static void count(struct ll_block block, void* context) {
    struct counting* counting = context;
    if (ll_block_is_inherited(block)) {
        return;
    }
    uintptr_t start = ll_block_start(block);
    struct ll_group_key key = {
        .kind = counting->slot->set,
        .stack = ll_block_site(block),
        .leader = start == counting->slot->block,
    };
    ll_groups_add(counting->groups, &key, ll_block_size(block), start);
}

static void count_set(struct ll_held* held, struct ll_marker* marker,
                      const struct ll_held_slot* slot) {
    struct counting counting = {&held->groups, slot};
    struct ll_flood flood = {
        .next = {LL_MARK_UNREACHED, LL_MARK_REACHED, LL_MARK_REACHED, BY_THIS_SET},
        .pending = BY_THIS_SET,
        .settled = LL_MARK_REACHED,
        .met = count,
        .context = &counting,
    };
    ll_marker_use(marker, &flood);
    ll_mark_word(marker, slot->block);
    ll_mark_finish(marker);
}

void ll_held_release(struct ll_held* held) {
    if (held->slots != NULL) {
        ll_memory_unmap(held->slots, held->capacity * sizeof *held->slots);
    }
    ll_groups_release(&held->groups);
    memset(held, 0, sizeof *held);
}
