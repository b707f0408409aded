#include "process/sites.h"

#include "heap/inspect.h"
#include "lens/pages_contexts.h"
#include "lens/stamps.h"
#include "stack/stack.h"

struct renaming {
    ll_node_renaming* rename;
    uint64_t words; // looked at so far
};

static bool rename_nodes(struct ll_block block, void* context) {
    struct renaming* renaming = context;
    ll_site site = ll_block_site(block);
    ll_site renamed = site == 0 ? 0 : renaming->rename(site);
    if (renamed != site) {
        ll_block_set_site(block, renamed);
    }
    renaming->words++;
    if (ll_stamps_on) {
        renaming->words += ll_stamp_rename(ll_block_start(block), ll_block_size(block),
                                           renaming->rename);
    }
    return true;
}

static uint64_t rename_all(ll_node_renaming* rename) {
    struct renaming renaming = {.rename = rename};
    ll_heap_visit(rename_nodes, &renaming);
    ll_page_contexts_forget_sites();
    return renaming.words;
}

void ll_sites_let_sweep(void) {
    ll_stack_let_sweep(rename_all);
}
