// How lenses look at blocks: from an address to its block, from a block to what is
// known of it, and over all blocks. Meant for a stopped world; takes no lock.
#pragma once
#include "heap/heap.h"

struct ll_span;

// One block; valid while the world is stopped.
struct ll_block {
    struct ll_span* span;
    uint32_t index; // of the block in its span
};

// True when `address` lies in the heap's range: one compare of bits 40..55.
bool ll_is_heap_address(uintptr_t address);

// The live block that contains `address` (interior and one past the end included).
bool ll_block_at(uintptr_t address, struct ll_block* block);

uintptr_t ll_block_start(struct ll_block block);
size_t ll_block_size(struct ll_block block); // requested
ll_site ll_block_site(struct ll_block block);
bool ll_block_is_inherited(struct ll_block block);
bool ll_block_is_ignored(struct ll_block block);

// Two bits per live block for the lens that marks; all 0 when a look begins.
unsigned ll_block_mark(struct ll_block block);
void ll_block_set_mark(struct ll_block block, unsigned mark);
void ll_heap_clear_marks(void);

// Visits every live block in address order until `visit` returns false.
typedef bool ll_block_visitor(struct ll_block block, void* context);
void ll_heap_visit(ll_block_visitor* visit, void* context);
