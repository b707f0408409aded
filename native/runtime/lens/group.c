#include "lens/group.h"

#include <string.h>

#include "base/attributes.h"
#include "os/memory.h"

enum { FIRST_CAPACITY = 64 };

static uint64_t hash(const struct ll_group_key* key) {
    uint64_t h = ((uint64_t)key->stack << 32 | key->leader) * 0x9e3779b97f4a7c15U;
    h ^= ((uint64_t)key->kind << 56) ^ ((uint64_t)key->loss << 2) ^ key->cause ^
         ((uint64_t)key->loss_offset << 40);
    h *= 0xc2b2ae3d27d4eb4fU;
    return h ^ (h >> 29);
}

static bool same(const struct ll_group_key* a, const struct ll_group_key* b) {
    return a->kind == b->kind && a->stack == b->stack && a->leader == b->leader &&
           a->loss == b->loss && a->cause == b->cause &&
           a->loss_offset == b->loss_offset;
}

// The place of `key`: its group, or the free place where it belongs.
static struct ll_group* place(struct ll_group* table, size_t capacity,
                              const struct ll_group_key* key) {
    size_t i = (size_t)hash(key) & (capacity - 1);
    while (table[i].key.kind != 0 && !same(&table[i].key, key)) {
        i = (i + 1) & (capacity - 1);
    }
    return &table[i];
}

static LL_COLD bool grow(struct ll_groups* groups) {
    size_t capacity = groups->capacity == 0 ? FIRST_CAPACITY : groups->capacity * 2;
    struct ll_group* table = ll_memory_map(capacity * sizeof *table);
    if (table == NULL) {
        return false;
    }
    for (size_t i = 0; i < groups->capacity; i++) {
        if (groups->table[i].key.kind != 0) {
            *place(table, capacity, &groups->table[i].key) = groups->table[i];
        }
    }
    size_t count = groups->count;
    ll_groups_release(groups);
    groups->table = table;
    groups->capacity = capacity;
    groups->count = count;
    return true;
}

struct ll_group* ll_groups_find(struct ll_groups* groups,
                                const struct ll_group_key* key) {
    if (groups->recent != NULL && same(&groups->recent->key, key)) {
        return groups->recent;
    }
    // A table that cannot grow is still used until one free place is left to end
    // searches.
    bool crowded = groups->count * 4 >= groups->capacity * 3;
    if (LL_UNLIKELY(crowded) && !grow(groups) &&
        groups->count + 1 >= groups->capacity) {
        groups->dropped++;
        return NULL;
    }
    struct ll_group* group = place(groups->table, groups->capacity, key);
    if (group->key.kind == 0) {
        group->key = *key;
        groups->count++;
    }
    groups->recent = group;
    return group;
}

void ll_groups_add(struct ll_groups* groups, const struct ll_group_key* key,
                   uint64_t size_bytes, uint64_t address) {
    struct ll_group* group = ll_groups_find(groups, key);
    if (group == NULL) {
        return;
    }
    if (group->blocks == 0) {
        group->address = address;
    }
    group->blocks++;
    group->bytes += size_bytes;
}

static bool before(const struct ll_group_key* a, const struct ll_group_key* b) {
    if (a->kind != b->kind) {
        return a->kind < b->kind;
    }
    if (a->stack != b->stack) {
        return a->stack < b->stack;
    }
    if (a->leader != b->leader) {
        return a->leader < b->leader;
    }
    if (a->loss != b->loss) {
        return a->loss < b->loss;
    }
    return a->cause != b->cause ? a->cause < b->cause : a->loss_offset < b->loss_offset;
}

// Restores the heap order of table[0..count) below `root`: heap sort needs no memory
// and no recursion.
static void sink(struct ll_group* table, size_t root, size_t count) {
    for (size_t child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count && before(&table[child].key, &table[child + 1].key)) {
            child++;
        }
        if (!before(&table[root].key, &table[child].key)) {
            return;
        }
        struct ll_group moved = table[root];
        table[root] = table[child];
        table[child] = moved;
    }
}

struct ll_group* ll_groups_sorted(struct ll_groups* groups) {
    struct ll_group* table = groups->table;
    size_t count = 0;
    for (size_t i = 0; i < groups->capacity; i++) {
        if (table[i].key.kind != 0) {
            table[count++] = table[i];
        }
    }
    for (size_t i = count / 2; i-- > 0;) {
        sink(table, i, count);
    }
    for (size_t end = count; end-- > 1;) {
        struct ll_group largest = table[0];
        table[0] = table[end];
        table[end] = largest;
        sink(table, 0, end);
    }
    groups->recent = NULL;
    return table;
}

void ll_groups_release(struct ll_groups* groups) {
    if (groups->table != NULL) {
        ll_memory_unmap(groups->table, groups->capacity * sizeof *groups->table);
    }
    uint64_t dropped = groups->dropped;
    memset(groups, 0, sizeof *groups);
    groups->dropped = dropped;
}
