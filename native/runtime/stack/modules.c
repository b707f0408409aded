// The registry of modules. Adding is rare and under a flag that nobody waits for inside
// malloc; reading takes no lock.
#include "stack/modules.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>

#include "base/attributes.h"
#include "os/memory.h"
#include "os/syscall.h"
#include "stack/frames.h"
#include "stack/image.h"
#include "stack/image_maps.h"
#include "stack/rules.h"
#include "stack/stack.h"
#include "stack/trie.h"

enum {
    // More than any program loads; ids beyond are 0, "no module".
    MODULES_MAX = 1 << 14,
    BUILD_ID_MAX = 32,
    PATH_MAX_BYTES = 4096,
    TEXT_CHUNK = 64 << 10,
    PATIENCE = 10000,
};

struct module {
    struct ll_module view;
    _Atomic bool unloaded;
    uint8_t build_id[BUILD_ID_MAX];
};

// Entries below `count` are complete; only `unloaded` changes later. `writing` is held
// to add or to drop, and never waited for.
static struct {
    struct module* entries;
    _Atomic uint32_t count;
    atomic_flag writing;
    char* text; // where the next path goes
    char* text_end;
} registry = {.writing = ATOMIC_FLAG_INIT};

bool ll_modules_start(void) {
    if (registry.entries == NULL) {
        registry.entries = ll_memory_map(MODULES_MAX * sizeof *registry.entries);
    }
    return registry.entries != NULL;
}

static bool covers(const struct module* module, uintptr_t address) {
    return module->view.start <= address && address < module->view.end;
}

static bool ends_with(const char* text, const char* end) {
    size_t text_length = strlen(text);
    size_t end_length = strlen(end);
    return text_length >= end_length &&
           strcmp(text + text_length - end_length, end) == 0;
}

// The same file at the same place.
static bool is_image(const struct module* module, const struct ll_image* image) {
    return module->view.start == image->start && module->view.end == image->end &&
           module->view.base == image->bias &&
           ends_with(module->view.path, image->name);
}

// Index or -1. Newest first: those of plugins are asked for most.
static int find_loaded(uintptr_t address) {
    for (uint32_t i = atomic_load(&registry.count); i-- > 0;) {
        const struct module* module = &registry.entries[i];
        if (covers(module, address) && !atomic_load(&module->unloaded)) {
            return (int)i;
        }
    }
    return -1;
}

static void retire(struct module* module) {
    atomic_store(&module->unloaded, true);
    uint32_t id = (uint32_t)(module - registry.entries) + 1;
    ll_trie_retire(module->view.start, module->view.end, id);
}

// Something new lies where `image` is: what was registered there is gone.
static bool retire_overlapped(const struct ll_image* image) {
    bool any = false;
    uint32_t count = atomic_load(&registry.count);
    for (uint32_t i = 0; i < count; i++) {
        struct module* module = &registry.entries[i];
        if (!atomic_load(&module->unloaded) && module->view.start < image->end &&
            image->start < module->view.end) {
            retire(module);
            any = true;
        }
    }
    return any;
}

// Room for one path of any length, in memory that is never freed.
static char* path_room(void) {
    if (registry.text_end - registry.text < PATH_MAX_BYTES) {
        char* chunk = ll_memory_map(TEXT_CHUNK);
        if (chunk == NULL) {
            return NULL;
        }
        registry.text = chunk;
        registry.text_end = chunk + TEXT_CHUNK;
    }
    return registry.text;
}

// Writes a path that means the same from any directory. The loader knows the program
// by no name, libraries as they were asked for, and the vDSO by a name without a slash.
static void write_path(const char* name, char path[PATH_MAX_BYTES]) {
    size_t used = 0;
    if (name[0] == '\0') {
        long length = ll_syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", path,
                                 PATH_MAX_BYTES - 1);
        path[length > 0 ? length : 0] = '\0';
        return;
    }
    if (name[0] != '/' && strchr(name, '/') != NULL) {
        long length = ll_syscall(SYS_getcwd, path, PATH_MAX_BYTES);
        if (length > 1 && path[0] == '/') {
            used = (size_t)length - 1;
            path[used++] = '/';
        }
    }
    size_t length = strnlen(name, PATH_MAX_BYTES - 1 - used);
    memcpy(path + used, name, length);
    path[used + length] = '\0';
}

// Finds the build-id among the notes of one segment.
static bool read_notes(const uint8_t* at, const uint8_t* end, struct module* module) {
    while ((size_t)(end - at) >= sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr)* note = (const ElfW(Nhdr)*)at;
        size_t name_size = ((size_t)note->n_namesz + 3) & ~(size_t)3;
        size_t value_size = ((size_t)note->n_descsz + 3) & ~(size_t)3;
        const uint8_t* name = at + sizeof *note;
        if (name_size > (size_t)(end - name) ||
            value_size > (size_t)(end - name) - name_size) {
            return false;
        }
        if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
            memcmp(name, "GNU", 4) == 0 && note->n_descsz <= BUILD_ID_MAX) {
            memcpy(module->build_id, name + name_size, note->n_descsz);
            module->view.build_id_length = note->n_descsz;
            return true;
        }
        at = name + name_size + value_size;
    }
    return false;
}

static void read_build_id(const struct ll_image* image, struct module* module) {
    const ElfW(Phdr) * segments;
    unsigned count = ll_image_segments(image, &segments);
    for (unsigned i = 0; i < count; i++) {
        uintptr_t start = image->bias + segments[i].p_vaddr;
        uintptr_t end = start + segments[i].p_filesz;
        uintptr_t readable_until = ll_image_readable_until(image, start);
        if (segments[i].p_type == PT_NOTE && end <= readable_until &&
            read_notes((const uint8_t*)start, (const uint8_t*)end, module)) {
            return;
        }
    }
}

static LL_COLD void add(const struct ll_image* image) {
    uint32_t count = atomic_load(&registry.count);
    char* path = count < MODULES_MAX ? path_room() : NULL;
    if (path == NULL) {
        return;
    }
    write_path(image->name, path);
    registry.text += strlen(path) + 1;
    struct module* module = &registry.entries[count];
    module->view = (struct ll_module){.base = image->bias,
                                      .start = image->start,
                                      .end = image->end,
                                      .build_id = module->build_id,
                                      .path = path};
    read_build_id(image, module);
    atomic_store(&registry.count, count + 1);
}

static bool has_same_build_id(const struct module* module,
                              const struct ll_image* image) {
    struct module now = {0};
    read_build_id(image, &now);
    return now.view.build_id_length == module->view.build_id_length &&
           memcmp(now.build_id, module->build_id, sizeof now.build_id) == 0;
}

// A library that was unloaded and came back to its old place is the same module, so
// that a program may reload its plugins for ever.
static bool revive(const struct ll_image* image) {
    for (uint32_t i = atomic_load(&registry.count); i-- > 0;) {
        struct module* module = &registry.entries[i];
        if (is_image(module, image) && has_same_build_id(module, image)) {
            ll_trie_revive(i + 1);
            atomic_store(&module->unloaded, false);
            return true;
        }
    }
    return false;
}

static void note(const struct ll_image* image) {
    int known = find_loaded(image->start);
    if (known >= 0 && is_image(&registry.entries[known], image)) {
        return;
    }
    if (retire_overlapped(image)) {
        ll_rules_forget();
        ll_frames_forget();
    }
    if (!revive(image)) {
        add(image);
    }
}

bool ll_module_note(uintptr_t address) {
    struct ll_image image;
    if (registry.entries == NULL || !ll_image_at(address, &image)) {
        return true;
    }
    if (atomic_flag_test_and_set(&registry.writing)) {
        return false;
    }
    note(&image);
    atomic_flag_clear(&registry.writing);
    return true;
}

// Others hold the flag for microseconds. Not for ever: a signal handler that calls
// dlclose may have interrupted the very thread that holds it.
static bool wait_for_registry(void) {
    for (unsigned i = 0; i < PATIENCE; i++) {
        if (!atomic_flag_test_and_set(&registry.writing)) {
            return true;
        }
        ll_syscall(SYS_sched_yield);
    }
    return false;
}

bool ll_modules_drop_unloaded(void) {
    bool any = false;
    ll_image_maps_forget();
    if (registry.entries == NULL || !wait_for_registry()) {
        return false;
    }
    uint32_t count = atomic_load(&registry.count);
    for (uint32_t i = 0; i < count; i++) {
        struct module* module = &registry.entries[i];
        struct ll_image image;
        if (!atomic_load(&module->unloaded) &&
            !(ll_image_at(module->view.start, &image) && is_image(module, &image))) {
            retire(module);
            any = true;
        }
    }
    atomic_flag_clear(&registry.writing);
    return any;
}

void ll_modules_fork_child(void) {
    atomic_flag_clear(&registry.writing);
    ll_image_maps_fork_child();
}

uint32_t ll_module_at(uintptr_t address) {
    ll_module_note(address);
    int index = find_loaded(address);
    return index < 0 ? 0 : (uint32_t)index + 1;
}

uint32_t ll_module_count(void) {
    return atomic_load(&registry.count);
}

bool ll_module_get(uint32_t id, struct ll_module* result) {
    if (id == 0 || id > ll_module_count()) {
        return false;
    }
    *result = registry.entries[id - 1].view;
    result->unloaded = atomic_load(&registry.entries[id - 1].unloaded);
    return true;
}
