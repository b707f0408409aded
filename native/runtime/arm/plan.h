// An arm plan on disk (format/arm_plan.md), opened and checked.
#pragma once
#include <stdint.h>

#include "patch/plan_file.h"

struct __attribute__((packed)) ll_arm_header {
    uint8_t magic[8];
    uint32_t build_id_length;
    uint32_t page_count;
    uint32_t mapping_count;
    uint32_t site_count;
    uint32_t stub_page_count;
    uint32_t sites_seen;
    uint32_t left_out;
    uint32_t code_crc;
    uint32_t tables_sum;
    int64_t gates[2]; // pages; 0: none
    uint8_t build_id[LL_BUILD_ID_MAX];
};

struct ll_arm_mapping {
    int64_t address;
    uint32_t page;
    uint32_t reserved;
};

struct ll_arm_site {
    uint32_t address;
    uint32_t word_at; // of the eight bytes that are written at once
    uint8_t original[8];
    uint8_t armed[5];
    uint8_t armed_length;
    uint8_t page_count; // of its stubs
    uint8_t reserved;
    uint32_t stub_pages_at;
    uint32_t reserved_too;
};
_Static_assert(sizeof(struct ll_arm_site) == 32, "as in the file");

struct ll_arm_plan {
    struct ll_plan_file file;
    const struct ll_arm_header* header;
    const struct ll_arm_mapping* mappings;
    const struct ll_arm_site* sites;
    const uint32_t* stub_pages; // numbers of mappings
};

// Opens `folder`/<build-id in hex>.arm. On anything but OK nothing stays open.
enum ll_plan_verdict ll_arm_plan_open(const char* folder, const uint8_t* build_id,
                                      uint32_t build_id_length,
                                      struct ll_arm_plan* plan);
