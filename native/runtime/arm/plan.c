#include "arm/plan.h"

#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include "base/options.h"
#include "os/file.h"
#include "os/memory.h"
#include "os/syscall.h"
#include "patch/births.h"
#include "patch/plan.h"

static const char magic[8] = {'l', 'l', 'a', 'r', 'm', '0', '0', '5'};

static bool is_for(const struct ll_arm_header* header, const uint8_t* build_id,
                   uint32_t length) {
    return memcmp(header->magic, magic, sizeof magic) == 0 &&
           header->build_id_length == length &&
           memcmp(header->build_id, build_id, length) == 0;
}

// As much of the tables is in memory at once while they are read as a whole.
enum { STRIDE_BYTES = 1 << 18 };

void ll_arm_plan_let_go(const struct ll_arm_plan* plan) {
    ll_syscall(SYS_madvise, plan->tables, plan->tables_bytes, MADV_DONTNEED);
}

static bool sum_is_right(const struct ll_arm_plan* plan) {
    uint32_t sum = LL_PLAN_SUM_BEGIN;
    for (size_t done = 0; done < plan->tables_bytes; done += STRIDE_BYTES) {
        size_t left = plan->tables_bytes - done;
        sum = ll_plan_sum(sum, plan->tables + done,
                          left < STRIDE_BYTES ? left : STRIDE_BYTES);
        ll_arm_plan_let_go(plan);
    }
    return sum == plan->header->tables_sum;
}

static bool jump_is_sound(const struct ll_arm_plan* plan,
                          const struct ll_arm_site* site) {
    uint32_t jump_at = ll_arm_jump_at(site);
    uint64_t pages_end = (uint64_t)site->stub_pages_at + site->page_count;
    return site->armed_length > 0 && site->armed_length <= LL_ARM_JUMP_LENGTH &&
           site->lead < site->length && jump_at <= site->address &&
           jump_at + site->armed_length <= ll_arm_word_at(site) + 8 &&
           pages_end <= plan->header->stub_page_count;
}

static bool sites_are_sound(const struct ll_arm_plan* plan) {
    uint32_t group_end = 0;
    for (uint32_t i = 0; i < plan->header->site_count; i++) {
        const struct ll_arm_site* site = &plan->sites[i];
        bool is_first = i == group_end;
        if (is_first != (site->site_count != 0) ||
            (is_first && !jump_is_sound(plan, site))) {
            return false;
        }
        group_end += is_first ? site->site_count : 0;
        if (i % (STRIDE_BYTES / sizeof *site) == 0) {
            ll_arm_plan_let_go(plan);
        }
    }
    return group_end == plan->header->site_count;
}

static bool stub_pages_are_sound(const struct ll_arm_plan* plan) {
    for (uint32_t i = 0; i < plan->header->stub_page_count; i++) {
        if (plan->stub_pages[i] >= plan->header->mapping_count) {
            return false;
        }
    }
    return true;
}

// The sites of a part are whole groups: those before it end there.
static bool part_is_sound(const struct ll_arm_plan* plan, uint32_t number) {
    const struct ll_arm_part* part = &plan->parts[number];
    uint64_t sites_end = (uint64_t)part->first_site + part->site_count;
    uint64_t unit_end = (uint64_t)part->first_of_unit + part->unit_count;
    return sites_end <= plan->header->site_count &&
           (part->site_count == 0 || plan->sites[part->first_site].site_count != 0) &&
           (sites_end == plan->header->site_count ||
            plan->sites[sites_end].site_count != 0) &&
           part->first_of_unit <= number && number < unit_end &&
           unit_end <= plan->header->part_count &&
           (!part->has_entry || part->address + LL_ARM_JUMP_LENGTH <=
                                    ll_arm_word_around(part->address) + 8);
}

static bool parts_are_sound(const struct ll_arm_plan* plan) {
    enum { PARTS_AT_ONCE = 256 };
    const struct ll_arm_header* header = plan->header;
    for (uint32_t i = 0; i < header->part_count; i++) {
        if (!part_is_sound(plan, i)) {
            return false;
        }
        if (i % PARTS_AT_ONCE == 0) {
            ll_arm_plan_let_go(plan);
        }
    }
    return header->eager_count <= header->part_count &&
           (uint64_t)header->part_count * LL_ARM_ENTRY_STUB_BYTES <=
               (uint64_t)header->entry_page_count * LL_PAGE_SIZE;
}

// A copy: a page of the file would be mapped for it, in every module.
static bool read_header(struct ll_arm_plan* plan) {
    plan->header = &plan->copy;
    return ll_file_read_at(plan->file.file, &plan->copy, sizeof plan->copy, 0) ==
           (long)sizeof plan->copy;
}

// False when the file is not as long as its tables.
static bool find_tables(struct ll_arm_plan* plan) {
    const struct ll_arm_header* header = plan->header;
    size_t code = ((size_t)header->page_count + header->text_page_count +
                   header->entry_page_count + 1) *
                  LL_PAGE_SIZE;
    size_t mappings = (size_t)header->mapping_count * sizeof *plan->mappings;
    size_t sites = (size_t)header->site_count * sizeof *plan->sites;
    size_t stub_pages = (size_t)header->stub_page_count * sizeof *plan->stub_pages;
    size_t parts = (size_t)header->part_count * sizeof *plan->parts;
    plan->tables_bytes = mappings + sites + stub_pages + parts;
    if (code + plan->tables_bytes != plan->file.size_bytes) {
        return false;
    }
    // A library without code that could be armed is no reason to complain.
    if (plan->tables_bytes == 0) {
        return true;
    }
    long mapped = ll_syscall(SYS_mmap, 0, plan->tables_bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE, plan->file.file, code);
    if (mapped < 0) {
        return false;
    }
    plan->tables = (char*)mapped;
    plan->mappings = (const struct ll_arm_mapping*)plan->tables;
    plan->sites = (const struct ll_arm_site*)(plan->tables + mappings);
    plan->stub_pages = (const uint32_t*)(plan->tables + mappings + sites);
    plan->parts =
        (const struct ll_arm_part*)(plan->tables + mappings + sites + stub_pages);
    return true;
}

void ll_arm_plan_close(struct ll_arm_plan* plan) {
    if (plan->tables != NULL) {
        ll_syscall(SYS_munmap, plan->tables, plan->tables_bytes);
        plan->tables = NULL;
    }
    ll_plan_file_close(&plan->file);
    plan->header = NULL;
}

// The number changes with the format. Code that lens `loss` has patched is planned in
// another way.
#define SUFFIX ".arm5"
static const char* suffix(void) {
    if (!ll_options_have_lens("loss")) {
        return SUFFIX;
    }
    return ll_births_on ? LL_PLAN_SUFFIX_WITH_BIRTHS SUFFIX : LL_PLAN_SUFFIX SUFFIX;
}

enum ll_plan_verdict ll_arm_plan_open(const char* folder, const uint8_t* build_id,
                                      uint32_t build_id_length,
                                      struct ll_arm_plan* plan) {
    *plan = (struct ll_arm_plan){0};
    enum ll_plan_verdict verdict =
        ll_plan_file_open(folder, build_id, build_id_length, suffix(), &plan->file);
    if (verdict != LL_PLAN_OK) {
        return verdict;
    }
    if (!read_header(plan) || !is_for(plan->header, build_id, build_id_length) ||
        !find_tables(plan) || !sum_is_right(plan) || !sites_are_sound(plan) ||
        !stub_pages_are_sound(plan) || !parts_are_sound(plan)) {
        ll_arm_plan_close(plan);
        return LL_PLAN_DAMAGED;
    }
    ll_arm_plan_let_go(plan);
    return LL_PLAN_OK;
}
