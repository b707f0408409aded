// Opening a plan trusts nothing: how long it is, what it claims.
#include "patch/plan.h"

#include <string.h>

#include "os/memory.h"
#include "patch/shadow.h"

static const char magic[8] = {'l', 'l', 'p', 'l', 'a', 'n', '0', '2'};

static bool is_sound(struct ll_plan* plan, const uint8_t* build_id, uint32_t length) {
    const struct ll_plan_header* header = plan->header;
    if (memcmp(header->magic, magic, sizeof magic) != 0 ||
        header->heap_tag != LL_HEAP_TAG || header->build_id_length != length ||
        memcmp(header->build_id, build_id, length) != 0) {
        return false;
    }
    size_t tables = ll_plan_page_offset(plan, header->page_count, true);
    size_t mappings_size = header->mapping_count * sizeof *plan->mappings;
    size_t patches_size = header->patch_count * sizeof *plan->patches;
    if (tables + mappings_size + patches_size != plan->file.size_bytes) {
        return false;
    }
    const char* start = (const char*)header + tables;
    plan->mappings = (const struct ll_plan_mapping*)start;
    plan->patches = (const struct ll_plan_patch*)(start + mappings_size);
    return ll_plan_sum(start, mappings_size + patches_size) == header->tables_sum;
}

enum ll_plan_verdict ll_plan_open(const char* folder, const uint8_t* build_id,
                                  uint32_t build_id_length, struct ll_plan* plan) {
    enum ll_plan_verdict verdict =
        ll_plan_file_open(folder, build_id, build_id_length, ".plan", &plan->file);
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

size_t ll_plan_page_offset(const struct ll_plan* plan, uint32_t page, bool locked) {
    size_t number = 1 + (size_t)page;
    if (locked) {
        number += plan->header->page_count;
    }
    return number * LL_PAGE_SIZE;
}
