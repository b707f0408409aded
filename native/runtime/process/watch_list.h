// The watch list of a second run (format/refine.md), checked and mapped.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LL_WATCH_RETURN = 1 };

// What a target's block is followed from on: its birth, a store that overwrites a
// reference to it, or a call that frees a block which holds one.
enum { LL_WATCH_FROM_BIRTH, LL_WATCH_FROM_STORE, LL_WATCH_FROM_FREE };

// In place of a register that the address of a store does not use.
enum { LL_WATCH_NO_REGISTER = 0xff };

// In place of a target's ordinal: any block of its call stack, one after the other
// until one is lost.
enum { LL_WATCH_ANY = 0 };

// Beside the general registers in a point's `live`.
enum { LL_WATCH_VECTOR = 1 << 16, LL_WATCH_RED_ZONE = 1 << 17 };

struct ll_watch_module {
    uint32_t build_id_length;
    uint8_t build_id[32];
};

struct ll_watch_target {
    uint32_t ordinal;
    uint32_t first_frame;
    uint32_t frame_count;
    uint32_t first_use;
    uint32_t use_count;
    uint32_t trigger;             // LL_WATCH_FROM_*
    uint32_t store;               // of LL_WATCH_FROM_STORE
    uint32_t first_trigger_frame; // the call stack of the loss in memory
    uint32_t trigger_frame_count;
};

struct ll_watch_frame {
    uint64_t pc;
    uint32_t module;
    uint32_t flags;
};

struct ll_watch_use {
    uint32_t function;
    uint32_t activations;
};

struct ll_watch_function {
    uint32_t first_point;
    uint32_t point_count;
};

struct ll_watch_point {
    uint64_t address;
    uint32_t module;
    uint32_t live;
    uint32_t function;
    uint8_t kind;
    uint8_t first_byte;
    uint16_t reserved;
};

// Where a store at a point writes: registers by DWARF number. Without any the
// displacement is relative to its module.
struct ll_watch_store {
    uint32_t point;
    uint8_t base;
    uint8_t index;
    uint8_t scale;
    uint8_t size_bytes;
    int64_t displacement;
};

struct ll_watch_list {
    const struct ll_watch_module* modules;
    const struct ll_watch_target* targets;
    const struct ll_watch_frame* frames;
    const struct ll_watch_use* uses;
    const struct ll_watch_function* functions;
    const struct ll_watch_point* points;
    const struct ll_watch_store* stores;
    uint32_t module_count;
    uint32_t target_count;
    uint32_t frame_count;
    uint32_t use_count;
    uint32_t function_count;
    uint32_t point_count;
    uint32_t store_count;
};

// Reads the list; every index in it is then within bounds. False when the file cannot
// be read or is no watch list. The memory stays for the life of the process.
bool ll_watch_list_read(const char* path, struct ll_watch_list* list);
