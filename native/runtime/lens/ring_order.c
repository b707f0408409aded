#include "lens/ring_order.h"

#include <string.h>

#include "os/memory.h"

enum { FIRST_CAPACITY = 4096 };

static bool grow(struct ll_ring_order* order) {
    size_t capacity = order->capacity == 0 ? FIRST_CAPACITY : order->capacity * 2;
    struct ll_ring_block* blocks = ll_memory_map(capacity * sizeof *blocks);
    if (blocks == NULL) {
        return false;
    }
    if (order->count > 0) {
        memcpy(blocks, order->blocks, order->count * sizeof *blocks);
    }
    size_t count = order->count;
    ll_ring_order_release(order);
    *order = (struct ll_ring_order){blocks, count, capacity};
    return true;
}

bool ll_ring_order_add(struct ll_ring_order* order, uintptr_t start, uint64_t clock) {
    if (order->count == order->capacity && !grow(order)) {
        return false;
    }
    order->blocks[order->count++] = (struct ll_ring_block){start, clock};
    return true;
}

static bool comes_after(struct ll_ring_block a, struct ll_ring_block b) {
    return a.clock != b.clock ? a.clock < b.clock : a.start > b.start;
}

// Lets the block at `root` sink to its place in a heap whose top comes last.
static void sink(struct ll_ring_block* blocks, size_t root, size_t count) {
    for (;;) {
        size_t child = 2 * root + 1;
        if (child >= count) {
            return;
        }
        if (child + 1 < count && comes_after(blocks[child + 1], blocks[child])) {
            child++;
        }
        if (!comes_after(blocks[child], blocks[root])) {
            return;
        }
        struct ll_ring_block moved = blocks[root];
        blocks[root] = blocks[child];
        blocks[child] = moved;
        root = child;
    }
}

void ll_ring_order_sort(struct ll_ring_order* order) {
    for (size_t root = order->count / 2; root-- > 0;) {
        sink(order->blocks, root, order->count);
    }
    for (size_t end = order->count; end-- > 1;) {
        struct ll_ring_block last = order->blocks[0];
        order->blocks[0] = order->blocks[end];
        order->blocks[end] = last;
        sink(order->blocks, 0, end);
    }
}

void ll_ring_order_release(struct ll_ring_order* order) {
    if (order->blocks != NULL) {
        ll_memory_unmap(order->blocks, order->capacity * sizeof *order->blocks);
    }
    *order = (struct ll_ring_order){0};
}
