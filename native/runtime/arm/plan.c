#include "arm/plan.h"

#include <stdbool.h>
#include <string.h>

#include "os/memory.h"

static const char magic[8] = {'l', 'l', 'a', 'r', 'm', '0', '0', '1'};

static bool is_for(const struct ll_arm_header* header, const uint8_t* build_id,
                   uint32_t length) {
    return memcmp(header->magic, magic, sizeof magic) == 0 &&
           header->build_id_length == length &&
           memcmp(header->build_id, build_id, length) == 0;
}

static bool sites_are_sound(const struct ll_arm_plan* plan) {
    for (uint32_t i = 0; i < plan->header->site_count; i++) {
        const struct ll_arm_site* site = &plan->sites[i];
        uint64_t pages_end = (uint64_t)site->stub_pages_at + site->page_count;
        if (site->armed_length == 0 || site->armed_length > sizeof site->armed ||
            site->address < site->word_at ||
            site->address + site->armed_length >
                site->word_at + sizeof site->original ||
            site->word_at % 64 > 56 || pages_end > plan->header->stub_page_count) {
            return false;
        }
    }
    for (uint32_t i = 0; i < plan->header->stub_page_count; i++) {
        if (plan->stub_pages[i] >= plan->header->mapping_count) {
            return false;
        }
    }
    return true;
}

static bool is_sound(struct ll_arm_plan* plan) {
    const struct ll_arm_header* header = plan->header;
    size_t code = ((size_t)header->page_count + 1) * LL_PAGE_SIZE;
    size_t mappings = (size_t)header->mapping_count * sizeof *plan->mappings;
    size_t sites = (size_t)header->site_count * sizeof *plan->sites;
    size_t stub_pages = (size_t)header->stub_page_count * sizeof *plan->stub_pages;
    if (code + mappings + sites + stub_pages != plan->file.size_bytes) {
        return false;
    }
    const char* tables = plan->file.start + code;
    plan->mappings = (const struct ll_arm_mapping*)tables;
    plan->sites = (const struct ll_arm_site*)(tables + mappings);
    plan->stub_pages = (const uint32_t*)(tables + mappings + sites);
    return ll_plan_sum(tables, mappings + sites + stub_pages) == header->tables_sum &&
           sites_are_sound(plan);
}

enum ll_plan_verdict ll_arm_plan_open(const char* folder, const uint8_t* build_id,
                                      uint32_t build_id_length,
                                      struct ll_arm_plan* plan) {
    enum ll_plan_verdict verdict =
        ll_plan_file_open(folder, build_id, build_id_length, ".arm", &plan->file);
    if (verdict != LL_PLAN_OK) {
        return verdict;
    }
    plan->header = (const struct ll_arm_header*)plan->file.start;
    if (!is_for(plan->header, build_id, build_id_length) || !is_sound(plan)) {
        ll_plan_file_close(&plan->file);
        return LL_PLAN_DAMAGED;
    }
    return LL_PLAN_OK;
}
