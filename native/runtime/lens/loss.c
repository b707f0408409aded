#include "lens/loss.h"

#include "format/records.h"
#include "lens/contexts.h"
#include "lens/stamps.h"
#include "patch/births.h"
#include "patch/patch.h"
#include "patch/sites.h"
#include "stack/stack.h"

// The node of the store that wrote a place, below the frame that called its function or
// that frame's whole stack; 0 when the store is not one of a module that is still
// loaded.
static uint32_t store_node(uint32_t place, uint64_t return_address) {
    uintptr_t store = ll_patch_store_at(place);
    if (store == 0) {
        return 0;
    }
    uint32_t caller = 0;
    if ((return_address & LL_ORIGIN_STACK) != 0) {
        caller = (uint32_t)return_address;
    } else if (return_address != 0) {
        caller = ll_stack_child(0, return_address, 0);
    }
    return ll_stack_child(caller, store, LL_NODE_exact_pc);
}

// The node of a site, below the stack of its context.
static uint32_t site_node(uintptr_t site, uint32_t context) {
    return ll_stack_child(ll_context_stack(context), site,
                          LL_NODE_site | LL_NODE_exact_pc);
}

void ll_loss_describe(struct ll_block block, struct ll_group_key* key) {
    struct ll_stamp stamp =
        ll_stamp_latest(ll_block_start(block), ll_block_size(block));
    switch (stamp.cause) {
    case LL_STAMP_store:
        if (ll_is_site(stamp.return_address)) {
            key->cause = LL_CAUSE_site;
            key->loss = site_node(stamp.return_address, stamp.place);
            break;
        }
        key->cause = LL_CAUSE_overwritten;
        key->loss = store_node(stamp.place, stamp.return_address);
        break;
    case LL_STAMP_freed:
        key->cause = LL_CAUSE_container_freed;
        key->loss = stamp.place;
        key->loss_offset = stamp.offset;
        break;
    case LL_STAMP_unmapped:
        key->cause = LL_CAUSE_unmapped;
        key->loss = stamp.place;
        break;
    case LL_STAMP_thread_exit:
        key->cause = LL_CAUSE_thread_exit;
        key->loss = stamp.place;
        key->loss_offset = stamp.offset;
        break;
    case LL_STAMP_thread_variable:
        key->cause = LL_CAUSE_thread_variable;
        key->loss = stamp.place;
        key->loss_offset = stamp.offset;
        break;
    case LL_STAMP_jumped_over:
        key->cause = LL_CAUSE_jumped_over;
        key->loss = stamp.place;
        break;
    default:
        key->cause = LL_CAUSE_not_in_memory;
    }
}

static uint32_t birth_node(struct ll_birth birth) {
    if (birth.is_known == 0) {
        return 0;
    }
    return ll_is_site(birth.caller) ? site_node(birth.caller, birth.place)
                                    : store_node(birth.place, birth.caller);
}

uint32_t ll_loss_birth(struct ll_block block) {
    struct ll_stamp stamp =
        ll_stamp_latest(ll_block_start(block), ll_block_size(block));
    if (!ll_births_on || stamp.cause == LL_STAMP_none) {
        return 0;
    }
    struct ll_birth birth = ll_birth_at(stamp.granule);
    bool is_of_stamp = !ll_is_site(stamp.return_address) ||
                       birth.is_known == ll_birth_known_at(stamp.clock);
    return is_of_stamp ? birth_node(birth) : 0;
}

uint32_t ll_birth_of_slot(uintptr_t slot, uintptr_t pointer) {
    return ll_births_on ? birth_node(ll_birth_in(slot, pointer)) : 0;
}
