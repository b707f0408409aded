// A plug-in that loses memory, loaded and unloaded by reach_plugins.c.
#include "corpus.h"

void plugin_run(void);

CASE void lost_in_plugin_bad(void) {
    KEEP(malloc(60));
}

void plugin_run(void) {
    lost_in_plugin_bad();
}
