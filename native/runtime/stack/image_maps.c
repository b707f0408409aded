// A file's mappings follow each other in the list, the one with the ELF header first;
// an image is the run of mappings of one inode around the address.
#include "stack/image_maps.h"

#include <stdatomic.h>
#include <string.h>

#include "os/maps.h"
#include "os/memory.h"

enum { IMAGES_MAX = 256, NAME_MAX_BYTES = 1024 };

struct remembered {
    struct ll_image image;
    char name[NAME_MAX_BYTES];
};

// Written by whoever holds the flag; readers see entries below `count`.
static struct {
    atomic_flag writing;
    atomic_uint count;
    struct remembered* entries;
} known = {.writing = ATOMIC_FLAG_INIT};

struct search {
    uintptr_t address;
    uint64_t inode;
    struct remembered* result;
    bool found;
};

static bool extend(const struct ll_mapping* mapping, void* context) {
    struct search* search = context;
    struct ll_image* image = &search->result->image;
    bool starts_image = mapping->inode != 0 && mapping->offset == 0 &&
                        mapping->inode != search->inode && mapping->readable;
    if (mapping->inode != search->inode && search->found) {
        return false;
    }
    if (starts_image) {
        search->inode = mapping->inode;
        image->start = mapping->start;
        strncpy(search->result->name, mapping->name, NAME_MAX_BYTES - 1);
    }
    if (mapping->inode == search->inode && mapping->inode != 0) {
        image->end = mapping->end;
        search->found |=
            mapping->start <= search->address && search->address < mapping->end;
    }
    return true;
}

// The load bias and .eh_frame_hdr, from the program headers.
static bool complete(struct ll_image* image) {
    const ElfW(Phdr) * segments;
    unsigned count = ll_image_segments(image, &segments);
    bool have_bias = false;
    for (unsigned i = 0; i < count; i++) {
        if (segments[i].p_type == PT_LOAD && !have_bias) {
            image->bias = image->start - (segments[i].p_vaddr & ~(uintptr_t)4095);
            have_bias = true;
        }
    }
    for (unsigned i = 0; i < count; i++) {
        if (segments[i].p_type == PT_GNU_EH_FRAME) {
            image->eh_header = (const uint8_t*)(image->bias + segments[i].p_vaddr);
        }
    }
    return have_bias;
}

static bool remember(uintptr_t address, struct ll_image* image) {
    if (known.entries == NULL) {
        known.entries = ll_memory_map(IMAGES_MAX * sizeof *known.entries);
    }
    unsigned count = atomic_load(&known.count);
    if (known.entries == NULL || count == IMAGES_MAX) {
        return false;
    }
    struct search search = {.address = address, .result = &known.entries[count]};
    memset(search.result, 0, sizeof *search.result);
    if (!ll_maps_visit(extend, &search) || !search.found ||
        !complete(&search.result->image)) {
        return false;
    }
    search.result->image.name = search.result->name;
    *image = search.result->image;
    atomic_store(&known.count, count + 1);
    return true;
}

bool ll_image_from_maps(uintptr_t address, struct ll_image* image) {
    unsigned count = atomic_load(&known.count);
    for (unsigned i = 0; i < count; i++) {
        const struct ll_image* candidate = &known.entries[i].image;
        if (candidate->start <= address && address < candidate->end) {
            *image = *candidate;
            return true;
        }
    }
    // Busy means another thread looks, or the code that this handler interrupted: the
    // stack is then cut here, and says so.
    if (atomic_flag_test_and_set(&known.writing)) {
        return false;
    }
    bool found = remember(address, image);
    atomic_flag_clear(&known.writing);
    return found;
}

void ll_image_maps_forget(void) {
    atomic_store(&known.count, 0);
}

void ll_image_maps_fork_child(void) {
    atomic_flag_clear(&known.writing);
}
