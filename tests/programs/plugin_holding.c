// A plug-in whose variables hold blocks when it is unloaded by loss_unloading.c; its
// destructor frees one of them.
#include "corpus.h"

void plugin_hold(void);

static char* held;
static char* freed;

// Missed by the checker: variables are taken to stay as long as the program runs.
CASE char* FN_only_in_plugin_bad(void) {
    return malloc(321);
}

CASE char* freed_by_destructor_ok(void) {
    return malloc(55);
}

void plugin_hold(void) {
    held = FN_only_in_plugin_bad();
    freed = freed_by_destructor_ok();
    KEEP(&held);
    KEEP(&freed);
}

__attribute__((destructor)) static void free_at_the_end(void) {
    free(freed);
}
