// A patch plan on disk (format/plan.md), opened and checked.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "patch/plan_file.h"

struct ll_plan_header {
    uint8_t magic[8];
    uint32_t heap_tag;
    uint32_t build_id_length;
    uint32_t page_count;
    uint32_t mapping_count;
    uint32_t patch_count;
    uint32_t stores;
    uint32_t left_out;
    uint32_t code_crc;
    uint32_t tables_sum;
    uint8_t build_id[LL_BUILD_ID_MAX];
};

struct ll_plan_mapping {
    int64_t address;
    uint32_t page;
    uint32_t reserved;
};

struct __attribute__((packed)) ll_plan_patch {
    uint64_t address;
    uint32_t mapping;
    uint8_t length;
    uint8_t checked;
    uint8_t original[16];
    uint8_t replacement[16];
    uint8_t jump_at;  // prefixes of the replacement before its jump
    uint8_t is_store; // 0: a neighbour that only makes room
};

struct ll_plan {
    struct ll_plan_file file;
    const struct ll_plan_header* header; // start of the mapped file
    const struct ll_plan_mapping* mappings;
    const struct ll_plan_patch* patches;
};

// Opens `folder`/<build-id in hex>.plan. On anything but OK nothing stays open.
enum ll_plan_verdict ll_plan_open(const char* folder, const uint8_t* build_id,
                                  uint32_t build_id_length, struct ll_plan* plan);

void ll_plan_close(struct ll_plan* plan);

// Closes the file alone; what is mapped stays.
void ll_plan_close_file(struct ll_plan* plan);

// Offset in the file of a code page, plain or locked.
size_t ll_plan_page_offset(const struct ll_plan* plan, uint32_t page, bool locked);
