// A patch plan on disk (format/plan.md), opened and checked.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "patch/plan_file.h"
#include "patch/text_sum.h"

enum { LL_PATCH_LENGTH_MAX = 13 };

struct ll_plan_header {
    uint8_t magic[8];
    uint32_t heap_tag;
    uint32_t build_id_length;
    uint32_t text_page_count;
    uint32_t code_page_count;
    uint32_t run_count;
    uint32_t mapping_count;
    uint32_t patch_count;
    uint32_t site_count;
    uint32_t stores;
    uint32_t left_out;
    uint32_t content_crc;
    uint32_t start_sum;
    struct ll_text_sum text_sum;
    uint8_t build_id[LL_BUILD_ID_MAX];
};

// Neighbouring pages of text.
struct ll_plan_run {
    uint64_t address;
    uint32_t page; // number of the first text page
    uint32_t count;
};

// A page of trampolines.
struct ll_plan_mapping {
    int64_t address;
    uint32_t page;   // number of the code page
    uint32_t stores; // whose trampolines have a part there
};

// An instruction that became a jump.
struct ll_plan_patch {
    uint32_t address;
    uint32_t mapping;      // where the jump leads
    uint32_t lost_mapping; // where that leads when something is lost
    uint8_t length;        // bytes that changed
    uint8_t jump_at;       // prefixes before the jump
    uint8_t stores;        // that its trampoline runs; 0: it only makes room
    uint8_t original[LL_PATCH_LENGTH_MAX];
};

// What the place in a stamp stands for.
struct ll_plan_site {
    uint32_t place; // lower half of the link-time address
    uint32_t store;
};

struct ll_plan {
    struct ll_plan_file file;
    const struct ll_plan_header* header; // a copy, with runs and mappings behind it
    size_t copy_size_bytes;
    const struct ll_plan_run* runs;
    const struct ll_plan_mapping* mappings;
    const struct ll_plan_patch* patches; // in the mapped file
    const struct ll_plan_site* sites;
};

// How the names of plans end, and of those that note births, too. The numbers change
// with what a plan patches, so that plans which stand beside it change with it.
#define LL_PLAN_SUFFIX ".plan13"
#define LL_PLAN_SUFFIX_WITH_BIRTHS ".births14"

// Opens `folder`/<build-id in hex><suffix>. On anything but OK nothing stays open.
enum ll_plan_verdict ll_plan_open(const char* folder, const uint8_t* build_id,
                                  uint32_t build_id_length, struct ll_plan* plan);

void ll_plan_close(struct ll_plan* plan);

// Closes the file alone. What is mapped stays, but not in memory: the tables are hardly
// ever read again.
void ll_plan_close_file(struct ll_plan* plan);

// Offsets in the file of a page of patched text and of a page of trampolines.
size_t ll_plan_text_offset(uint32_t page);
size_t ll_plan_code_offset(const struct ll_plan* plan, uint32_t page);
