// Opening a plan trusts nothing: how long it is, what it claims.
#include "patch/plan.h"

#include <string.h>

#include "os/memory.h"
#include "patch/births.h"
#include "patch/shadow.h"

// The two kinds of plans: those with births also look at what was stored.
static const struct kind {
    char magic[8];
    char suffix[9];
} losses = {{'l', 'l', 'p', 'l', 'a', 'n', '0', '5'}, ".plan5"},
  births = {{'l', 'l', 'b', 'r', 't', 'h', '0', '5'}, ".births5"};

static const struct kind* wanted_kind(void) {
    return ll_births_on ? &births : &losses;
}

static bool is_for(const struct ll_plan_header* header, const uint8_t* build_id,
                   uint32_t length) {
    return memcmp(header->magic, wanted_kind()->magic, sizeof header->magic) == 0 &&
           header->heap_tag == LL_HEAP_TAG && header->build_id_length == length &&
           memcmp(header->build_id, build_id, length) == 0;
}

static bool lies_in_file(const struct ll_plan* plan) {
    if (plan->header->run_count > 1) {
        return false;
    }
    for (uint32_t i = 0; i < plan->header->run_count; i++) {
        const struct ll_plan_run* run = &plan->runs[i];
        if ((uint64_t)run->page + run->count > plan->header->text_page_count) {
            return false;
        }
    }
    for (uint32_t i = 0; i < plan->header->mapping_count; i++) {
        if (plan->mappings[i].page >= plan->header->code_page_count) {
            return false;
        }
    }
    return true;
}

static bool is_sound(struct ll_plan* plan, const uint8_t* build_id, uint32_t length) {
    const struct ll_plan_header* header = plan->header;
    if (!is_for(header, build_id, length)) {
        return false;
    }
    size_t at = ll_plan_code_offset(plan, header->code_page_count);
    size_t runs_size = header->run_count * sizeof *plan->runs;
    size_t mappings_size = header->mapping_count * sizeof *plan->mappings;
    size_t patches_size = header->patch_count * sizeof *plan->patches;
    size_t sites_size = header->site_count * sizeof *plan->sites;
    if (at + runs_size + mappings_size + patches_size + sites_size !=
        plan->file.size_bytes) {
        return false;
    }
    const char* tables = (const char*)header + at;
    plan->runs = (const struct ll_plan_run*)tables;
    plan->mappings = (const struct ll_plan_mapping*)(tables + runs_size);
    plan->patches = (const struct ll_plan_patch*)(tables + runs_size + mappings_size);
    plan->sites =
        (const struct ll_plan_site*)((const char*)plan->patches + patches_size);
    return ll_plan_sum(tables, runs_size + mappings_size) == header->start_sum &&
           lies_in_file(plan);
}

enum ll_plan_verdict ll_plan_open(const char* folder, const uint8_t* build_id,
                                  uint32_t build_id_length, struct ll_plan* plan) {
    enum ll_plan_verdict verdict = ll_plan_file_open(
        folder, build_id, build_id_length, wanted_kind()->suffix, &plan->file);
    if (verdict != LL_PLAN_OK) {
        return verdict;
    }
    plan->header = (const struct ll_plan_header*)plan->file.start;
    if (!is_sound(plan, build_id, build_id_length)) {
        ll_plan_close(plan);
        return LL_PLAN_DAMAGED;
    }
    return LL_PLAN_OK;
}

void ll_plan_close(struct ll_plan* plan) {
    ll_plan_file_close(&plan->file);
    plan->header = NULL;
}

void ll_plan_close_file(struct ll_plan* plan) {
    ll_plan_file_close_descriptor(&plan->file);
}

size_t ll_plan_text_offset(uint32_t page) {
    return (1 + (size_t)page) * LL_PAGE_SIZE;
}

size_t ll_plan_code_offset(const struct ll_plan* plan, uint32_t page) {
    return ll_plan_text_offset(plan->header->text_page_count) +
           (size_t)page * LL_PAGE_SIZE;
}
