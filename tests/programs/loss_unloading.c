// Unloads a plug-in whose variables hold the last references to blocks.
#include <dlfcn.h>

#include "corpus.h"

CASE void unload(void* plugin) {
    dlclose(plugin); // loss(FN_only_in_plugin_bad): unmapped
}

int main(int argc, char** argv) {
    if (argc > 1) {
        void* plugin = dlopen(argv[1], RTLD_NOW);
        void* hold = dlsym(plugin, "plugin_hold");
        ((void (*)(void))hold)();
        scrub();
        unload(plugin);
    }
    scrub();
    return 0;
}
