#include "process/sites.h"

#include "heap/inspect.h"
#include "lens/pages_contexts.h"
#include "stack/stack.h"

static bool rename_site(struct ll_block block, void* context) {
    ll_node_renaming* const* rename = context;
    ll_site site = ll_block_site(block);
    ll_site renamed = site == 0 ? 0 : (*rename)(site);
    if (renamed != site) {
        ll_block_set_site(block, renamed);
    }
    return true;
}

static void rename_sites(ll_node_renaming* rename) {
    ll_heap_visit(rename_site, &rename);
    ll_page_contexts_forget_sites();
}

void ll_sites_let_sweep(void) {
    ll_stack_let_sweep(rename_sites);
}
