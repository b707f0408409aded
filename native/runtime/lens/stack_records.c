#include "lens/stack_records.h"

#include <string.h>

#include "format/records.h"
#include "os/memory.h"
#include "record/recording.h"
#include "stack/stack.h"

// A set of small numbers: which nodes or modules are in the recording already.
struct written {
    uint64_t* bits;
    size_t capacity; // ids below it fit
};

static struct written nodes;
static struct written modules;
static uint64_t identity; // who wrote them

static void remember(struct written* written, uint32_t id);
static bool is_written(const struct written* written, uint32_t id);
static void write_node(uint32_t id, const struct ll_node* node);
static void forget_if_another_process(void);

// A path is written from its outermost node inwards, so it is first followed outwards.
// Longer ones than this array take another turn for the inner rest.
enum { PATH_MAX_NODES = 512 };

void ll_stack_records_write(uint32_t node) {
    forget_if_another_process();
    uint32_t path[PATH_MAX_NODES];
    size_t length = 0;
    struct ll_node found;
    for (uint32_t at = node; at != 0 && !is_written(&nodes, at); at = found.parent) {
        if (!ll_node_get(at, &found)) {
            break;
        }
        path[length++ % PATH_MAX_NODES] = at;
    }
    size_t kept = length < PATH_MAX_NODES ? length : PATH_MAX_NODES;
    for (size_t i = 1; i <= kept; i++) {
        uint32_t id = path[(length - i) % PATH_MAX_NODES];
        if (ll_node_get(id, &found)) {
            write_node(id, &found);
        }
    }
    // Without memory to remember what is written, another turn would not get further.
    if (length > kept && is_written(&nodes, path[(length - kept) % PATH_MAX_NODES])) {
        ll_stack_records_write(node);
    }
}

static void write_module(uint32_t id) {
    struct ll_module module;
    if (id == 0 || is_written(&modules, id) || !ll_module_get(id, &module)) {
        return;
    }
    char text[4096 + 256];
    size_t id_length = module.build_id_length < 256 ? module.build_id_length : 0;
    size_t path_length = strnlen(module.path, sizeof text - 256);
    struct ll_record_module record = {
        .id = id,
        .state = module.unloaded ? LL_MODULE_unloaded : LL_MODULE_loaded,
        .base = module.base,
        .start = module.start,
        .end = module.end,
        .build_id_length = (uint32_t)id_length,
    };
    if (id_length > 0) {
        memcpy(text, module.build_id, id_length);
    }
    memcpy(text + id_length, module.path, path_length);
    ll_record(LL_RECORD_module, &record, sizeof record, text, id_length + path_length);
    remember(&modules, id);
}

static void write_node(uint32_t id, const struct ll_node* node) {
    write_module(node->module);
    struct ll_record_node record = {
        .id = id,
        .parent = node->parent,
        .pc = node->pc,
        .module = node->module,
        .flags = node->flags,
        .reason = node->reason,
    };
    ll_record(LL_RECORD_node, &record, sizeof record, NULL, 0);
    remember(&nodes, id);
}

static void forget_if_another_process(void) {
    if (identity == ll_recording_identity()) {
        return;
    }
    identity = ll_recording_identity();
    if (nodes.bits != NULL) {
        memset(nodes.bits, 0, nodes.capacity / 8);
    }
    if (modules.bits != NULL) {
        memset(modules.bits, 0, modules.capacity / 8);
    }
}

static bool is_written(const struct written* written, uint32_t id) {
    return id < written->capacity && (written->bits[id / 64] >> (id % 64) & 1) != 0;
}

// Without memory nothing is remembered, and what is used twice is written twice.
static bool make_room(struct written* written, uint32_t id) {
    if (id < written->capacity) {
        return true;
    }
    size_t capacity = written->capacity == 0 ? LL_PAGE_SIZE * 8 : written->capacity;
    while (capacity <= id) {
        capacity *= 2;
    }
    uint64_t* bits = ll_memory_map(capacity / 8);
    if (bits == NULL) {
        return false;
    }
    if (written->bits != NULL) {
        memcpy(bits, written->bits, written->capacity / 8);
        ll_memory_unmap(written->bits, written->capacity / 8);
    }
    *written = (struct written){bits, capacity};
    return true;
}

static void remember(struct written* written, uint32_t id) {
    if (make_room(written, id)) {
        written->bits[id / 64] |= 1ULL << (id % 64);
    }
}
