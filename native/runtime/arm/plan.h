// An arm plan on disk (format/arm_plan.md), opened and checked.
#pragma once
#include <stdint.h>

#include "patch/plan_file.h"
#include "patch/text_sum.h"

struct __attribute__((packed)) ll_arm_header {
    uint8_t magic[8];
    uint32_t build_id_length;
    uint32_t page_count;
    uint32_t text_page_count; // 0: the text is patched, too, and armed in place
    uint32_t entry_page_count;
    uint32_t mapping_count;
    uint32_t site_count;
    uint32_t stub_page_count;
    uint32_t part_count;
    uint32_t eager_count; // the first parts, which are armed from the start
    uint32_t sites_seen;
    uint32_t left_out;
    uint32_t code_crc;
    uint32_t tables_sum;
    uint32_t reserved;
    int64_t gates[2]; // pages; 0: none
    struct ll_text_sum text_sum;
    int64_t text_address; // of the first text page
    int64_t entry_stubs_address;
    uint8_t build_id[LL_BUILD_ID_MAX];
};

struct ll_arm_mapping {
    int64_t address;
    uint32_t page;
    uint32_t reserved;
};

enum { LL_ARM_JUMP_LENGTH = 5, LL_ARM_ENTRY_STUB_BYTES = 20 };

// Neighbours form a group, which one jump arms; its first site tells how.
struct ll_arm_site {
    uint32_t address; // of the instruction that touches
    int32_t distance; // of the jump
    union {
        uint32_t stub_pages_at; // in a plan
        // Of a place: from the page of its stub to that of the stub for the case that
        // the next group is armed, in pages; 0 when there is none.
        int32_t other_page;
    };
    uint16_t lead;   // bytes from the instruction that becomes a jump to this one
    uint16_t length; // bytes of code that the stub runs instead
    uint8_t original[LL_ARM_JUMP_LENGTH];
    uint8_t armed_length; // bytes that are written; the others are those behind them
    uint8_t page_count;   // of the group's stubs
    uint8_t site_count;   // of the group; 0: not its first, and only `address` is set
};
_Static_assert(sizeof(struct ll_arm_site) == 24, "as in the file");

// A range of code, which is armed together with its unit when that is entered. Its
// *entry*, its first bytes, is a jump until then.
struct __attribute__((packed)) ll_arm_part {
    uint32_t address;
    uint32_t first_site;
    uint32_t site_count;
    uint32_t first_of_unit; // number of the unit's first part
    uint16_t unit_count;    // parts of the unit
    uint8_t original[LL_ARM_JUMP_LENGTH];
    uint8_t has_entry;
};
_Static_assert(sizeof(struct ll_arm_part) == 24, "as in the file");

// Address of the instruction that becomes a jump.
static inline uint32_t ll_arm_jump_at(const struct ll_arm_site* site) {
    return site->address - site->lead;
}

// Address of the eight bytes that are written at once to change those at an address:
// they lie in one cache line.
static inline uint32_t ll_arm_word_around(uint32_t address) {
    uint32_t last = (address & ~63U) + 56;
    return address < last ? address : last;
}

static inline uint32_t ll_arm_word_at(const struct ll_arm_site* site) {
    return ll_arm_word_around(ll_arm_jump_at(site));
}

struct ll_arm_plan {
    struct ll_plan_file file;
    struct ll_arm_header copy;          // of the file's
    const struct ll_arm_header* header; // the copy; NULL: the plan is not open
    const struct ll_arm_mapping* mappings;
    const struct ll_arm_site* sites;
    const uint32_t* stub_pages; // numbers of mappings
    const struct ll_arm_part* parts;
    char* tables; // these four, in a private copy of the file's pages
    size_t tables_bytes;
};

// Opens the plan that lies in `folder` for the lenses of this run. It stays where it is
// from then on. On anything but OK nothing stays open.
enum ll_plan_verdict ll_arm_plan_open(const char* folder, const uint8_t* build_id,
                                      uint32_t build_id_length,
                                      struct ll_arm_plan* plan);

void ll_arm_plan_close(struct ll_arm_plan* plan);

// Brings a part of the tables into memory, of a plan most of whose pages are never
// needed. A page that is read brings in its neighbours; one that is written comes
// alone.
static inline void ll_arm_plan_bring(const void* start, size_t size_bytes) {
    uintptr_t end = (uintptr_t)start + size_bytes;
    for (uintptr_t at = (uintptr_t)start; at < end; at = (at | 4095) + 1) {
        __atomic_or_fetch((uint8_t*)at, 0, __ATOMIC_RELAXED);
    }
}

// One site. Safe in any code.
static inline const struct ll_arm_site* ll_arm_plan_site(const struct ll_arm_plan* plan,
                                                         uint32_t number) {
    const struct ll_arm_site* site = &plan->sites[number];
    ll_arm_plan_bring(site, sizeof *site);
    return site;
}

// Gives the memory back that the tables take; what is read again comes from the file.
void ll_arm_plan_let_go(const struct ll_arm_plan* plan);
