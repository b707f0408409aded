#include "lens/tally.h"

#include "base/attributes.h"
#include "format/records.h"
#include "lens/loss.h"
#include "lens/stamps.h"
#include "lens/touches.h"

enum { USUAL_MAX = 20000 };

static struct ll_group_key condensed(struct ll_tally* tally, struct ll_group_key key) {
    key.stack = ll_condense(&tally->condenser, key.stack);
    key.leader = ll_condense(&tally->condenser, key.leader);
    return key;
}

static void merge(struct ll_groups* groups, const struct ll_group_key* key,
                  const struct ll_group* more) {
    struct ll_group* group = ll_groups_find(groups, key);
    if (group == NULL) {
        groups->dropped += more->blocks - 1;
        return;
    }
    group->blocks += more->blocks;
    group->bytes += more->bytes;
    group->indirect_blocks += more->indirect_blocks;
    group->indirect_bytes += more->indirect_bytes;
    group->address = more->address;
}

static LL_COLD void shrink(struct ll_tally* tally) {
    if (!ll_condense_more(&tally->condenser)) {
        return;
    }
    struct ll_groups old = tally->groups;
    tally->groups = (struct ll_groups){.dropped = old.dropped};
    for (size_t i = 0; i < old.capacity; i++) {
        if (old.table[i].key.kind != 0) {
            struct ll_group_key key = condensed(tally, old.table[i].key);
            merge(&tally->groups, &key, &old.table[i]);
        }
    }
    ll_groups_release(&old);
}

static struct ll_group* group_of(struct ll_tally* tally, struct ll_block block,
                                 uint32_t kind, uint32_t leader) {
    size_t most = tally->groups_max == 0 ? USUAL_MAX : tally->groups_max;
    if (LL_UNLIKELY(tally->groups.count > most)) {
        shrink(tally);
    }
    struct ll_group_key key = {.kind = kind, .leader = leader};
    bool lost = kind == LL_GROUP_lost || kind == LL_GROUP_indirect;
    if (lost || !tally->only_lost_by_stack) {
        key.stack = ll_block_site(block);
    }
    key = condensed(tally, key);
    if (kind == LL_GROUP_lost && ll_stamps_on) {
        ll_loss_describe(block, &key);
    }
    return ll_groups_find(&tally->groups, &key);
}

void ll_tally_add(struct ll_tally* tally, struct ll_block block, uint32_t kind,
                  uint32_t leader) {
    struct ll_group* group = group_of(tally, block, kind, leader);
    if (group != NULL) {
        group->address = group->blocks == 0 ? ll_block_start(block) : group->address;
        group->blocks++;
        group->bytes += ll_block_size(block);
    }
    if (LL_UNLIKELY(ll_touches_on)) {
        uint32_t stack = ll_condense(&tally->condenser, ll_block_site(block));
        ll_touched_add(&tally->touched, block, kind, stack);
    }
}

void ll_tally_add_led(struct ll_tally* tally, struct ll_block leader, uint64_t blocks,
                      uint64_t bytes) {
    struct ll_group* group = group_of(tally, leader, LL_GROUP_lost, 0);
    if (group != NULL) {
        group->indirect_blocks += blocks;
        group->indirect_bytes += bytes;
    }
}
