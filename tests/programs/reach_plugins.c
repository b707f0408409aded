// A library that was unloaded long ago is still named in the stacks it left.
#include <dlfcn.h>
#include <stdio.h>

#include "corpus.h"

int main(int argc, char** argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: %s PLUGIN\n", argv[0]);
        return 2;
    }
    for (int i = 0; i < 3; i++) {
        void* plugin = dlopen(argv[1], RTLD_NOW);
        if (plugin == NULL) {
            fprintf(stderr, "%s\n", dlerror());
            return 2;
        }
        void (*run)(void) = (void (*)(void))dlsym(plugin, "plugin_run");
        run();
        dlclose(plugin);
    }
    scrub();
    return 0;
}
