// Libraries that come and go: stacks keep the names of those that are gone, and the
// code that takes their place is not mistaken for them.
#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "stack/image.h"
#include "stack/image_maps.h"
#include "stack_oracle.h"

typedef void plugin_call_function(void (*function)(void));

static volatile uint32_t last_node;

static void compare(void) {
    last_node = capture_and_compare();
}

// The frame of the library: the one that called `compare`.
static struct ll_node plugin_frame(uint32_t node) {
    struct ll_node found = {0};
    CHECK(ll_node_get(node, &found) && ll_node_get(found.parent, &found));
    return found;
}

static void plugin_path(const char* name, char path[PATH_MAX]) {
    char program[PATH_MAX] = "";
    CHECK(readlink("/proc/self/exe", program, sizeof program - 1) > 0);
    *strrchr(program, '/') = '\0';
    snprintf(path, PATH_MAX, "%.3000s/%s.so", program, name);
}

static uint32_t capture_in_plugin(const char* name) {
    char path[PATH_MAX];
    plugin_path(name, path);
    void* handle = dlopen(path, RTLD_NOW);
    CHECK(handle != NULL);
    if (handle == NULL) {
        return 0;
    }
    plugin_call_function* call;
    *(void**)&call = dlsym(handle, "plugin_call");
    call(compare);
    uint32_t node = last_node;
    call(compare);
    CHECK(last_node == node || plugin_frame(node).pc == plugin_frame(last_node).pc);
    CHECK(dlclose(handle) == 0);
    ll_stack_modules_changed();
    return node;
}

static bool module_is(uint32_t id, const char* name, bool unloaded) {
    struct ll_module module;
    char path[PATH_MAX];
    plugin_path(name, path);
    return ll_module_get(id, &module) && strcmp(module.path, path) == 0 &&
           module.unloaded == unloaded && module.build_id_length == 20;
}

static void code_at_the_same_address_is_told_apart(void) {
    uint32_t first = capture_in_plugin("plugin_first");
    uint32_t second = capture_in_plugin("plugin_second");
    struct ll_node first_frame = plugin_frame(first);
    struct ll_node second_frame = plugin_frame(second);
    // The kernel gives the same addresses again; without that there is nothing to test.
    CHECK(first_frame.pc == second_frame.pc);
    CHECK(first != second);
    CHECK(first_frame.module != second_frame.module);
    CHECK(module_is(first_frame.module, "plugin_first", true));
    CHECK(module_is(second_frame.module, "plugin_second", true));
}

// Plugins that are reloaded for ever need no more room.
static void library_loaded_again_is_the_same_module(void) {
    uint32_t first = capture_in_plugin("plugin_first");
    uint32_t second = capture_in_plugin("plugin_second");
    uint32_t modules = ll_module_count();
    uint32_t nodes = ll_node_count();
    for (unsigned i = 0; i < 20; i++) {
        bool is_second = i % 3 == 0;
        const char* name = is_second ? "plugin_second" : "plugin_first";
        uint32_t node = capture_in_plugin(name);
        CHECK(module_is(plugin_frame(node).module, name, true));
        CHECK(plugin_frame(node).module ==
              plugin_frame(is_second ? second : first).module);
    }
    CHECK(ll_module_count() == modules);
    CHECK(ll_node_count() < nodes + 20);
}

static void the_program_is_known_by_its_path(void) {
    char program[PATH_MAX] = "";
    CHECK(readlink("/proc/self/exe", program, sizeof program - 1) > 0);
    struct ll_module module;
    uintptr_t here = (uintptr_t)&the_program_is_known_by_its_path;
    CHECK(ll_module_get(ll_module_at(here), &module));
    CHECK(strcmp(module.path, program) == 0);
    CHECK(!module.unloaded && module.start <= here && here < module.end);
    // Linked with holes before the code, so that the ELF header is not next to it.
    CHECK(module.start > module.base && module.build_id_length == 20);
    CHECK(ll_module_at(16) == 0);
    CHECK(ll_module_at((uintptr_t)&module) == 0);
    CHECK(!ll_module_get(0, &module) && !ll_module_get(ll_module_count() + 1, &module));
}

static bool is_same_image(const void* address) {
    struct ll_image by_loader;
    struct ll_image by_maps;
    return ll_image_at((uintptr_t)address, &by_loader) &&
           ll_image_from_maps((uintptr_t)address, &by_maps) &&
           by_maps.start <= by_loader.start && by_loader.bias == by_maps.bias &&
           by_loader.eh_header == by_maps.eh_header &&
           (by_loader.name[0] == '\0' ||
            strcmp(strrchr(by_loader.name, '/'), strrchr(by_maps.name, '/')) == 0);
}

// For a libc that cannot tell.
static void images_are_found_in_the_list_of_mappings_too(void) {
    struct ll_image image;
    CHECK(is_same_image((const void*)&is_same_image));
    CHECK(is_same_image(dlsym(RTLD_DEFAULT, "gnu_get_libc_version")));
    CHECK(is_same_image(dlsym(RTLD_DEFAULT, "gnu_get_libc_version")));
    CHECK(is_same_image(dlsym(RTLD_DEFAULT, "_Unwind_Backtrace")));
    CHECK(!ll_image_from_maps((uintptr_t)&image, &image));
    CHECK(!ll_image_from_maps(16, &image));
    ll_image_maps_forget();
    CHECK(is_same_image(dlsym(RTLD_DEFAULT, "gnu_get_libc_version")));
}

int main(void) {
    CHECK(ll_stack_start(DEPTH));
    the_program_is_known_by_its_path();
    compare();
    code_at_the_same_address_is_told_apart();
    library_loaded_again_is_the_same_module();
    compare();
    images_are_found_in_the_list_of_mappings_too();
    return failures != 0;
}
