#include "process/followed.h"

#include <stddef.h>

#include "format/records.h"
#include "lens/stack_records.h"
#include "record/recording.h"
#include "stack/stack.h"

static void record_step(const struct ll_followed_step* step, uint32_t target) {
    uint32_t node = ll_stack_child(0, step->pc, LL_NODE_exact_pc);
    ll_stack_records_write(node);
    struct ll_record_refined_step record = {
        .target = target,
        .node = node,
        .holder = step->holder.kind,
        .holder_register = step->holder.number,
        .slot_from_sp = step->holder.from_sp,
        .rbp_from_sp = step->rbp_from_sp,
    };
    ll_record(LL_RECORD_refined_step, &record, sizeof record, NULL, 0);
}

void ll_followed_record(const struct ll_followed* followed, uint32_t target) {
    ll_stack_records_write(followed->site);
    ll_stack_records_write(followed->loss);
    ll_stack_records_write(followed->trigger);
    struct ll_record_refined record = {
        .target = target,
        .outcome = followed->state,
        .stack = followed->site,
        .loss = followed->loss,
        .steps = followed->steps_taken,
        .trigger = followed->trigger,
    };
    ll_record(LL_RECORD_refined, &record, sizeof record, NULL, 0);
    uint32_t taken = followed->steps_taken;
    uint32_t first = taken > LL_STEPS_KEPT ? taken - LL_STEPS_KEPT : 0;
    for (uint32_t i = first; i < taken; i++) {
        record_step(&followed->steps[i % LL_STEPS_KEPT], target);
    }
}
