// Blocks in the order of their latest loss, for rings: the block of a ring whose
// reference went last is the one by which the whole ring was lost. Memory comes from
// the system.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ll_ring_block {
    uintptr_t start;
    uint64_t clock;
};

struct ll_ring_order {
    struct ll_ring_block* blocks;
    size_t count;
    size_t capacity;
};

// False when memory ran out.
bool ll_ring_order_add(struct ll_ring_order* order, uintptr_t start, uint64_t clock);

// Latest first; equal ones by address.
void ll_ring_order_sort(struct ll_ring_order* order);

void ll_ring_order_release(struct ll_ring_order* order);
