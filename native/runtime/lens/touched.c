#include "lens/touched.h"

#include "arm/module.h"
#include "arm/record.h"
#include "arm/schedule.h"
#include "arm/uses.h"
#include "arm/window.h"
#include "base/attributes.h"
#include "base/options.h"
#include "base/text.h"
#include "format/records.h"
#include "lens/pages.h"
#include "lens/siblings.h"
#include "lens/stack_records.h"
#include "lens/touches.h"
#include "os/memory.h"
#include "record/recording.h"
#include "stack/stack.h"

enum { FIRST_CAPACITY = 256, FINE_GROUPS_MAX = 40000, NS_PER_MS = 1000000 };

// A look takes time between the clocks of the two lenses.
enum { CLOCK_SLACK_MS = 20 };

struct key {
    uint32_t kind; // 0: the place in the table is free
    uint32_t stack;
    uint32_t use;    // the last one
    uint32_t idle;   // bucket
    uint32_t active; // bucket
    uint32_t windows;
};

struct ll_touched_group {
    struct key key;
    uint64_t idle_ms;
    uint64_t idle_most_ms;
    uint64_t active_ms;
    uint64_t blocks;
    uint64_t bytes;
    uint64_t drag_byte_ms;
};

// Eight buckets per doubling: what is counted together differs by an eighth at most.
static uint32_t bucket_of(uint64_t ms) {
    enum { FINE_BITS = 3 };
    if (ms < 1 << FINE_BITS) {
        return (uint32_t)ms;
    }
    unsigned shift = 63 - (unsigned)__builtin_clzll(ms) - FINE_BITS;
    return (shift << FINE_BITS) + (uint32_t)(ms >> shift);
}

static uint64_t hash(const struct key* key) {
    uint64_t h = ((uint64_t)key->stack << 32 | key->idle) * 0x9e3779b97f4a7c15U;
    h ^= key->use * 0xc2b2ae3d27d4eb4fU;
    h ^= (uint64_t)key->active << 40 ^ (uint64_t)key->windows << 8 ^ key->kind;
    h *= 0x9e3779b97f4a7c15U;
    return h ^ h >> 29;
}

static bool same(const struct key* a, const struct key* b) {
    return a->kind == b->kind && a->stack == b->stack && a->use == b->use &&
           a->idle == b->idle && a->active == b->active && a->windows == b->windows;
}

static struct ll_touched_group* find(struct ll_touched_group* table, size_t capacity,
                                     const struct key* key) {
    size_t i = (size_t)hash(key) & (capacity - 1);
    while (table[i].key.kind != 0 && !same(&table[i].key, key)) {
        i = (i + 1) & (capacity - 1);
    }
    return &table[i];
}

static LL_COLD bool grow(struct ll_touched* touched) {
    size_t capacity = touched->capacity == 0 ? FIRST_CAPACITY : touched->capacity * 2;
    struct ll_touched_group* table = ll_memory_map(capacity * sizeof *table);
    if (table == NULL) {
        return false;
    }
    for (size_t i = 0; i < touched->capacity; i++) {
        if (touched->table[i].key.kind != 0) {
            *find(table, capacity, &touched->table[i].key) = touched->table[i];
        }
    }
    if (touched->table != NULL) {
        ll_memory_unmap(touched->table, touched->capacity * sizeof *table);
    }
    touched->table = table;
    touched->capacity = capacity;
    return true;
}

static struct ll_touched_group* group_of(struct ll_touched* touched,
                                         const struct key* key) {
    if (touched->count * 2 >= touched->capacity && !grow(touched)) {
        touched->dropped++;
        return NULL;
    }
    struct ll_touched_group* group = find(touched->table, touched->capacity, key);
    if (group->key.kind == 0) {
        group->key = *key;
        group->idle_ms = UINT64_MAX;
        touched->count++;
    }
    return group;
}

static uint64_t since_ms(uint64_t later_ns, uint64_t earlier_ns) {
    return later_ns > earlier_ns ? (later_ns - earlier_ns) / NS_PER_MS : 0;
}

// Counted exactly while few, then by powers of two.
static uint32_t windows_of(struct ll_touch touch) {
    enum { EXACT_MAX = 4 };
    if (touch.windows <= EXACT_MAX) {
        return touch.windows;
    }
    return 1U << (31 - (unsigned)__builtin_clz(touch.windows));
}

void ll_touched_add(struct ll_touched* touched, struct ll_block block, uint32_t kind,
                    uint32_t stack) {
    struct ll_touch touch = ll_touch_of(block);
    uint64_t idle_ms = since_ms(touched->now_ns, touch.last_ns);
    uint64_t active_ms = since_ms(touch.last_ns, touch.first_ns);
    if (LL_UNLIKELY(ll_options.raw_blocks)) {
        struct ll_record_raw_touch raw = {
            .address = ll_block_start(block),
            .idle_ms = idle_ms,
            .active_ms = active_ms,
            .stack = stack,
            .windows = touch.windows,
            .accessed = touch.use != 0,
            .kind = kind,
        };
        ll_record(LL_RECORD_raw_touch, &raw, sizeof raw, NULL, 0);
    }
    struct key key = {
        .kind = kind,
        .stack = stack,
        .use = touch.use,
        .idle = bucket_of(idle_ms),
        .windows = windows_of(touch),
    };
    if (touched->count < FINE_GROUPS_MAX) {
        key.active = bucket_of(active_ms);
    }
    struct ll_touched_group* group = group_of(touched, &key);
    if (group == NULL) {
        return;
    }
    uint64_t lower_ns;
    if (ll_pages_idle_ns(block, &lower_ns) &&
        lower_ns / NS_PER_MS > idle_ms + CLOCK_SLACK_MS) {
        touched->contradictions++;
    }
    uint64_t size = ll_block_size(block);
    group->idle_ms = idle_ms < group->idle_ms ? idle_ms : group->idle_ms;
    group->idle_most_ms = idle_ms > group->idle_most_ms ? idle_ms : group->idle_most_ms;
    group->active_ms = active_ms > group->active_ms ? active_ms : group->active_ms;
    group->blocks++;
    group->bytes += size;
    group->drag_byte_ms += size * idle_ms;
}

static uint32_t node_of(uint32_t number) {
    const struct ll_use* use = ll_use_get(number);
    if (use == NULL) {
        return 0;
    }
    return use->node != 0
               ? use->node
               : ll_stack_child(0, ll_arm_address_of(&ll_arm.places[use->place]),
                                LL_NODE_exact_pc);
}

static void write_before(const struct ll_use* use, uint32_t last) {
    uint32_t nodes[LL_USES_BEFORE] = {0};
    for (unsigned i = 0; i < LL_USES_BEFORE && use->before[i] != 0; i++) {
        nodes[i] = node_of(use->before[i]);
        ll_stack_records_write(nodes[i]);
    }
    if (nodes[0] == 0) {
        return;
    }
    struct ll_record_used_before record = {
        .last_access = last,
        .first = nodes[0],
        .second = nodes[1],
        .third = nodes[2],
        .fourth = nodes[3],
    };
    ll_record(LL_RECORD_used_before, &record, sizeof record, NULL, 0);
}

static void write_group(const struct ll_touched_group* group, uint32_t look) {
    uint32_t last = node_of(group->key.use);
    ll_stack_records_write(group->key.stack);
    ll_stack_records_write(last);
    struct ll_record_touched record = {
        .kind = group->key.kind,
        .stack = group->key.stack,
        .last_access = last,
        .windows = group->key.windows,
        .idle_ms = group->idle_ms,
        .idle_most_ms = group->idle_most_ms,
        .active_ms = group->active_ms,
        .blocks = group->blocks,
        .bytes = group->bytes,
        .drag_byte_ms = group->drag_byte_ms,
    };
    ll_record(LL_RECORD_touched, &record, sizeof record, NULL, 0);
    if (last != 0) {
        write_before(ll_use_get(group->key.use), last);
    }
    ll_siblings_write(group->key.stack, look);
}

static void write_unfit_sites(void) {
    uint32_t count = ll_arm_tell_unfit();
    if (count == 0) {
        return;
    }
    char text[160];
    char* end = ll_append_text(ll_append_count(text, count),
                               " loads and stores found no room to be watched when"
                               " their code first ran; a block that only they use looks"
                               " stale");
    struct ll_record_not_seen fields = {.reason = LL_NOT_SEEN_accesses};
    ll_record(LL_RECORD_not_seen, &fields, sizeof fields, text, (size_t)(end - text));
}

static void write_sampling(uint32_t contradictions) {
    struct ll_schedule_counts counts = ll_schedule_counts();
    struct ll_window_counts windows = ll_window_counts();
    struct ll_record_sampling record = {
        .bursts = counts.bursts,
        .touches = counts.touches,
        .windows = windows.windows,
        .window_ns = windows.window_ns,
        .spent_ns = counts.spent_ns,
        .places = ll_arm.place_count,
        .contradictions = contradictions,
    };
    ll_record(LL_RECORD_sampling, &record, sizeof record, NULL, 0);
}

void ll_touched_write(struct ll_touched* touched) {
    for (size_t i = 0; i < touched->capacity; i++) {
        if (touched->table[i].key.kind != 0) {
            write_group(&touched->table[i], touched->look);
        }
    }
    write_sampling(touched->contradictions);
    write_unfit_sites();
    if (touched->table != NULL) {
        ll_memory_unmap(touched->table, touched->capacity * sizeof *touched->table);
        touched->table = NULL;
    }
}
