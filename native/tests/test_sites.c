// Notes of instrumented modules, well-formed and not, and which addresses are sites.
#include "patch/sites.h"

#include <stdint.h>
#include <string.h>

#include "check.h"
#include "patch/hooks.h"
#include "patch/loss_page.h"

struct note {
    uint32_t name_bytes;
    uint32_t content_bytes;
    uint32_t type;
    char name[12];
    int32_t start;
    int32_t end;
    int32_t heap_tag;
    int32_t find_allocating;
};

struct short_note {
    uint32_t name_bytes;
    uint32_t content_bytes;
    uint32_t type;
    char name[4];
    char content[12];
};

static struct {
    struct short_note other;
    struct note ours;
    char table[3 * 32];
    uint32_t heap_tag;
    char code;
} module;

static int32_t distance(const void* target, const int32_t* field) {
    return (int32_t)((const char*)target - (const char*)field);
}

static void make_module(void) {
    module.other = (struct short_note){4, 12, 1, "GNU", {0}};
    module.ours = (struct note){.name_bytes = 9, .content_bytes = 16, .type = 4};
    memcpy(module.ours.name, "Leakline", 9);
    module.ours.start = distance(module.table, &module.ours.start);
    module.ours.end = distance(module.table + sizeof module.table, &module.ours.end);
    module.ours.heap_tag = distance(&module.heap_tag, &module.ours.heap_tag);
    module.ours.find_allocating = distance(&module.code, &module.ours.find_allocating);
}

static void note_is_found(void) {
    struct ll_sites sites;
    CHECK(ll_sites_read(&module.ours, sizeof module.ours, &sites));
    CHECK(sites.start == (uintptr_t)module.table);
    CHECK(sites.end == sites.start + sizeof module.table);
    CHECK(sites.heap_tag == &module.heap_tag);
    CHECK((uintptr_t)sites.find_allocating == (uintptr_t)&module.code);
}

static void other_notes_are_passed_over(void) {
    struct ll_sites sites;
    size_t size = sizeof module.other + sizeof module.ours;
    CHECK(ll_sites_read(&module.other, size, &sites));
    CHECK(sites.heap_tag == &module.heap_tag);
    CHECK(!ll_sites_read(&module.other, sizeof module.other, &sites));
}

static void cut_notes_are_refused(void) {
    struct ll_sites sites;
    for (size_t size = 0; size < sizeof module.ours; size++) {
        CHECK(!ll_sites_read(&module.ours, size, &sites));
    }
}

static void oversized_notes_are_refused(void) {
    struct note note = module.ours;
    struct ll_sites sites;
    note.name_bytes = UINT32_MAX;
    CHECK(!ll_sites_read(&note, sizeof note, &sites));
    note = module.ours;
    note.content_bytes = UINT32_MAX - 2;
    CHECK(!ll_sites_read(&note, sizeof note, &sites));
}

static void all_of_the_table_are_sites(void) {
    struct ll_sites sites;
    CHECK(ll_sites_read(&module.ours, sizeof module.ours, &sites));
    ll_sites_register(&sites);
    CHECK(module.heap_tag == LL_HEAP_TAG);
    CHECK(ll_is_site(sites.start));
    CHECK(ll_is_site(sites.end - 1));
    CHECK(!ll_is_site(sites.start - 1));
    CHECK(!ll_is_site(sites.end));
    CHECK(!ll_is_site(0));
}

static void unloaded_modules_are_forgotten(void) {
    struct ll_sites sites;
    CHECK(ll_sites_read(&module.ours, sizeof module.ours, &sites));
    ll_sites_begin_census();
    ll_sites_register(&sites);
    ll_sites_end_census();
    CHECK(ll_is_site(sites.start));
    ll_sites_begin_census();
    ll_sites_end_census();
    CHECK(!ll_is_site(sites.start));
}

static void withdrawn_modules_are_as_before(void) {
    struct ll_sites sites;
    module.heap_tag = UINT32_MAX;
    CHECK(ll_sites_read(&module.ours, sizeof module.ours, &sites));
    ll_sites_register(&sites);
    CHECK(module.heap_tag == LL_HEAP_TAG);
    ll_sites_withdraw();
    CHECK(module.heap_tag == UINT32_MAX);
    CHECK(!ll_is_site(sites.start));
}

static void modules_loaded_among_threads_leave_stamps_to_functions(void) {
    struct ll_sites sites;
    ll_loss_page()->quick_contexts[5] = 5;
    ll_sites_lock_clock();
    CHECK(ll_loss_page()->mode == 0 && ll_loss_page()->quick_contexts[5] == 5);
    CHECK(ll_sites_read(&module.ours, sizeof module.ours, &sites));
    ll_sites_register(&sites);
    CHECK(ll_loss_page()->mode == 1 && ll_loss_page()->quick_contexts[5] == 0);
    ll_sites_withdraw();
}

int main(void) {
    uintptr_t heap_bytes = 0;
    CHECK(ll_hooks_start(&heap_bytes));
    make_module();
    note_is_found();
    other_notes_are_passed_over();
    cut_notes_are_refused();
    oversized_notes_are_refused();
    all_of_the_table_are_sites();
    unloaded_modules_are_forgotten();
    withdrawn_modules_are_as_before();
    modules_loaded_among_threads_leave_stamps_to_functions();
    return failures != 0;
}
