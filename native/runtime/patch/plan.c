// Opening a plan trusts nothing: how long it is, what it claims.
#include "patch/plan.h"

#include <string.h>

#include "os/file.h"
#include "os/memory.h"
#include "patch/births.h"
#include "patch/shadow.h"

// The two kinds of plans: those with births also look at what was stored.
static const struct kind {
    char magic[8];
    char suffix[10];
} losses = {{'l', 'l', 'p', 'l', 'a', 'n', '1', '3'}, LL_PLAN_SUFFIX},
  births = {{'l', 'l', 'b', 'r', 't', 'h', '1', '4'}, LL_PLAN_SUFFIX_WITH_BIRTHS};

static const struct kind* wanted_kind(void) {
    return ll_births_on ? &births : &losses;
}

static bool is_for(const struct ll_plan_header* header, const uint8_t* build_id,
                   uint32_t length) {
    return memcmp(header->magic, wanted_kind()->magic, sizeof header->magic) == 0 &&
           header->heap_tag == LL_HEAP_TAG && header->build_id_length == length &&
           memcmp(header->build_id, build_id, length) == 0;
}

static size_t tables_offset(const struct ll_plan_header* header) {
    size_t pages = 1 + (size_t)header->text_page_count + header->code_page_count;
    return pages * LL_PAGE_SIZE;
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

static size_t start_size(const struct ll_plan_header* header) {
    return header->run_count * sizeof(struct ll_plan_run) +
           header->mapping_count * sizeof(struct ll_plan_mapping);
}

static bool has_size(const struct ll_plan* plan, const struct ll_plan_header* header) {
    return tables_offset(header) + start_size(header) +
               header->patch_count * sizeof *plan->patches +
               header->site_count * sizeof *plan->sites ==
           plan->file.size_bytes;
}

static bool read_at(const struct ll_plan* plan, void* to, size_t size, size_t offset) {
    return ll_file_read_at(plan->file.file, to, size, offset) == (long)size;
}

// What is read at every start is copied: the kernel makes a page of a mapped file
// resident together with many around it.
static bool copy_start(struct ll_plan* plan, const struct ll_plan_header* header) {
    size_t size = start_size(header);
    plan->copy_size_bytes = sizeof *header + size;
    char* copy = ll_memory_map(plan->copy_size_bytes);
    plan->header = (const struct ll_plan_header*)copy;
    if (copy == NULL) {
        return false;
    }
    char* tables = copy + sizeof *header;
    memcpy(copy, header, sizeof *header);
    plan->runs = (const struct ll_plan_run*)tables;
    plan->mappings = (const struct ll_plan_mapping*)(plan->runs + header->run_count);
    return read_at(plan, tables, size, tables_offset(header)) &&
           ll_plan_sum(LL_PLAN_SUM_BEGIN, tables, size) == header->start_sum &&
           lies_in_file(plan);
}

static bool read_plan(struct ll_plan* plan, const uint8_t* build_id, uint32_t length) {
    struct ll_plan_header header;
    if (!read_at(plan, &header, sizeof header, 0) ||
        !is_for(&header, build_id, length) || !has_size(plan, &header) ||
        !copy_start(plan, &header) || !ll_plan_file_map(&plan->file)) {
        return false;
    }
    const char* rest = plan->file.start + tables_offset(&header) + start_size(&header);
    plan->patches = (const struct ll_plan_patch*)rest;
    plan->sites = (const struct ll_plan_site*)(plan->patches + header.patch_count);
    return true;
}

enum ll_plan_verdict ll_plan_open(const char* folder, const uint8_t* build_id,
                                  uint32_t build_id_length, struct ll_plan* plan) {
    plan->header = NULL;
    enum ll_plan_verdict verdict = ll_plan_file_open(
        folder, build_id, build_id_length, wanted_kind()->suffix, &plan->file);
    if (verdict != LL_PLAN_OK) {
        return verdict;
    }
    if (!read_plan(plan, build_id, build_id_length)) {
        ll_plan_close(plan);
        return LL_PLAN_DAMAGED;
    }
    return LL_PLAN_OK;
}

void ll_plan_close(struct ll_plan* plan) {
    ll_plan_file_close(&plan->file);
    if (plan->header != NULL) {
        ll_memory_unmap((void*)plan->header, plan->copy_size_bytes);
        plan->header = NULL;
    }
}

void ll_plan_close_file(struct ll_plan* plan) {
    ll_plan_file_close_descriptor(&plan->file);
    ll_plan_file_leave_pages(&plan->file);
}

size_t ll_plan_text_offset(uint32_t page) {
    return (1 + (size_t)page) * LL_PAGE_SIZE;
}

size_t ll_plan_code_offset(const struct ll_plan* plan, uint32_t page) {
    return ll_plan_text_offset(plan->header->text_page_count) +
           (size_t)page * LL_PAGE_SIZE;
}
