#include "lens/references.h"

#include <sys/uio.h>

#include "format/records.h"
#include "heap/inspect.h"
#include "lens/classify.h"
#include "lens/loss.h"
#include "lens/stack_records.h"
#include "os/maps.h"
#include "os/memory.h"
#include "os/residence.h"
#include "os/syscall.h"
#include "record/recording.h"
#include "stack/stack.h"

// First and last address of the library that this code is part of.
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

// Beyond this, references of new kinds are left out: a table of a million pointers is
// one variable.
enum { KINDS_MAX = 1 << 16 };

// Of memory that is not the heap's, so much is read at a time.
enum { PIECE_WORDS = 512 };

// Groups are counted by: kind LL_REFERENCE_*, stack of the block that is referred to;
// `leader` is the holder's node, `loss` the birth's, `loss_offset` the place in it.
static void count(struct ll_references* references, struct ll_group_key* key,
                  uintptr_t slot, uintptr_t word, struct ll_block block) {
    key->stack = ll_block_site(block);
    key->loss = ll_birth_of_slot(slot, word);
    struct ll_groups* groups = &references->groups;
    if (groups->count < KINDS_MAX) {
        ll_groups_add(groups, key, ll_block_size(block), ll_block_start(block));
    }
}

static bool reached_block(uintptr_t word, struct ll_block* block) {
    return ll_is_heap_address(word) && ll_block_at(word, block) &&
           ll_block_mark(*block) == LL_MARK_REACHED && !ll_block_is_inherited(*block);
}

static bool count_in_block(struct ll_block holder, void* context) {
    uintptr_t start = ll_block_start(holder);
    size_t words = ll_block_size(holder) / sizeof(uintptr_t);
    if (ll_block_mark(holder) != LL_MARK_REACHED) {
        return true;
    }
    for (size_t i = 0; i < words; i++) {
        uintptr_t slot = start + i * sizeof(uintptr_t);
        uintptr_t word = *(const uintptr_t*)slot;
        struct ll_block block;
        if (reached_block(word, &block)) {
            struct ll_group_key key = {
                .kind = LL_REFERENCE_block,
                .leader = ll_block_site(holder),
                .loss_offset = (uint32_t)(i * sizeof(uintptr_t)),
            };
            count(context, &key, slot, word, block);
        }
    }
    return true;
}

// The node of a variable's address; 0 when it lies in no module.
static uint32_t variable_node(uintptr_t slot) {
    struct ll_node node;
    uint32_t id = ll_stack_child(0, slot, LL_NODE_exact_pc);
    return ll_node_get(id, &node) && node.module != 0 ? id : 0;
}

struct search {
    struct ll_references* references;
    struct ll_residence residence;
};

// Read by a system call, which fails where a load would raise a signal.
static void count_in_piece(struct search* search, uintptr_t start, size_t size_bytes) {
    uintptr_t copy[PIECE_WORDS];
    struct iovec local = {copy, size_bytes};
    struct iovec remote = {(void*)start, size_bytes};
    long self = ll_syscall(SYS_getpid);
    long got = ll_syscall(SYS_process_vm_readv, self, &local, 1, &remote, 1, 0);
    for (size_t i = 0; (long)((i + 1) * sizeof *copy) <= got; i++) {
        struct ll_block block;
        uintptr_t slot = start + i * sizeof *copy;
        if (!reached_block(copy[i], &block)) {
            continue;
        }
        struct ll_group_key key = {.kind = LL_REFERENCE_variable,
                                   .leader = variable_node(slot)};
        if (key.leader != 0) {
            count(search->references, &key, slot, copy[i], block);
        }
    }
}

static bool may_hold_variables(const struct ll_mapping* mapping) {
    return mapping->readable && mapping->writable && !mapping->shared &&
           !ll_is_heap_address(mapping->start) &&
           ll_memory_own_end(mapping->start) < mapping->end &&
           (mapping->end <= (uintptr_t)__ehdr_start ||
            mapping->start >= (uintptr_t)_end);
}

static bool count_in_mapping(const struct ll_mapping* mapping, void* context) {
    struct search* search = context;
    uintptr_t at = mapping->start;
    uintptr_t end;
    // A module has its variables at one place: a look at the ends is enough.
    if (!may_hold_variables(mapping) ||
        (variable_node(mapping->start) == 0 && variable_node(mapping->end - 8) == 0)) {
        return true;
    }
    while (ll_residence_next(&search->residence, search->residence.private_source, at,
                             mapping->end, &at, &end)) {
        for (; at < end; at += PIECE_WORDS * sizeof(uintptr_t)) {
            size_t left = end - at;
            size_t piece = PIECE_WORDS * sizeof(uintptr_t);
            count_in_piece(search, at, left < piece ? left : piece);
        }
        at = end;
    }
    return true;
}

void ll_references_find(struct ll_references* references) {
    struct search search = {.references = references};
    ll_heap_visit(count_in_block, references);
    ll_residence_open(&search.residence);
    ll_maps_visit(count_in_mapping, &search);
    ll_residence_close(&search.residence);
}

void ll_references_write(struct ll_references* references) {
    const struct ll_group* group = ll_groups_sorted(&references->groups);
    for (size_t i = 0; i < references->groups.count; i++, group++) {
        ll_stack_records_write(group->key.stack);
        ll_stack_records_write(group->key.leader);
        ll_stack_records_write(group->key.loss);
        struct ll_record_reference record = {
            .stack = group->key.stack,
            .kind = group->key.kind,
            .holder = group->key.leader,
            .offset = group->key.loss_offset,
            .birth = group->key.loss,
            .slots = group->blocks,
        };
        ll_record(LL_RECORD_reference, &record, sizeof record, NULL, 0);
    }
    ll_groups_release(&references->groups);
}
