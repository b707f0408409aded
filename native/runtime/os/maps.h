// The mappings of this process, read from /proc/self/maps without allocating.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ll_mapping {
    uintptr_t start;
    uintptr_t end;
    bool readable;
    bool writable;
    bool executable;
    bool shared;
    uint64_t inode;   // 0 for memory without a file
    uint64_t offset;  // into the file
    const char* name; // path or [stack] etc., "" if none; valid during the visit only
};

// Calls `visit` for each mapping in address order until it returns false. Returns
// false when the list could not be read at all.
typedef bool ll_maps_visitor(const struct ll_mapping* mapping, void* context);
bool ll_maps_visit(ll_maps_visitor* visit, void* context);
