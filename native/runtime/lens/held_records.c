// Writes what stack slots hold: for each set its slots, with the groups they hold.
#include "format/records.h"
#include "lens/held.h"
#include "lens/stack_records.h"
#include "record/recording.h"

// A block with more slots than this is passed around and surely in use; more sets than
// this tell no more about the program.
enum { SLOTS_MAX = 16, SETS_MAX = 4096 };

// The slots of one set: `count` of them from `first` on.
struct slots {
    const struct ll_held_slot* first;
    size_t count;
};

static struct slots slots_of(const struct ll_held* held, uint32_t set) {
    size_t low = 0;
    size_t high = held->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (held->slots[middle].set < set) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    size_t count = 0;
    while (low + count < held->count && held->slots[low + count].set == set) {
        count++;
    }
    return (struct slots){held->slots + low, count};
}

static void write_slot(const struct ll_group* group, const struct ll_held_slot* slot,
                       struct ll_stopped_frames* frames) {
    uint32_t node = ll_stopped_frames_node(frames, slot->frame);
    ll_stack_records_write(node);
    ll_stack_records_write(group->key.stack);
    struct ll_record_stack_held record = {
        .stack = group->key.stack,
        .frame = node,
        .direct = group->key.leader,
        .set = slot->set,
        .cfa_offset = (int64_t)(slot->address - frames->list[slot->frame].cfa),
        .blocks = group->blocks,
        .bytes = group->bytes,
        .address = group->address,
    };
    ll_record(LL_RECORD_stack_held, &record, sizeof record, NULL, 0);
}

void ll_held_write(struct ll_held* held, struct ll_stopped_frames* frames) {
    const struct ll_group* group = ll_groups_sorted(&held->groups);
    for (size_t i = 0; i < held->groups.count; i++, group++) {
        struct slots slots = slots_of(held, group->key.kind);
        if (slots.count > SLOTS_MAX || group->key.kind > SETS_MAX) {
            continue;
        }
        for (size_t k = 0; k < slots.count; k++) {
            write_slot(group, &slots.first[k], frames);
        }
    }
}
