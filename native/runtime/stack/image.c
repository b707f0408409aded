// Finds images through glibc's lock-free _dl_find_object; where glibc is too old to
// have it, through /proc/self/maps.
#include "stack/image.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/attributes.h"
#include "os/memory.h"
#include "stack/bounds.h"
#include "stack/image_maps.h"

#ifdef DLFO_EH_SEGMENT_TYPE

extern __typeof__(_dl_find_object) _dl_find_object __attribute__((weak));

bool ll_image_at(uintptr_t address, struct ll_image* image) {
    if (_dl_find_object == NULL) {
        return ll_image_from_maps(address, image);
    }
    struct dl_find_object found;
    if (_dl_find_object((void*)address, &found) != 0) {
        return false;
    }
    *image = (struct ll_image){
        .start = (uintptr_t)found.dlfo_map_start,
        .end = (uintptr_t)found.dlfo_map_end,
        .bias = found.dlfo_link_map->l_addr,
        .name = found.dlfo_link_map->l_name,
        .eh_header = found.dlfo_eh_frame,
    };
    return true;
}

#else

bool ll_image_at(uintptr_t address, struct ll_image* image) {
    return ll_image_from_maps(address, image);
}

#endif

static unsigned segments_at(uintptr_t address, const ElfW(Phdr) * *segments) {
    const ElfW(Ehdr)* header = (const ElfW(Ehdr)*)address;
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_phentsize != sizeof **segments ||
        header->e_phoff > LL_PAGE_SIZE - sizeof **segments) {
        return 0;
    }
    *segments = (const ElfW(Phdr)*)(address + header->e_phoff);
    return header->e_phnum;
}

// An image with holes: the kernel knows the program's, and libraries are linked to
// begin at address 0, so that their header is where the bias says.
static unsigned segments_elsewhere(const struct ll_image* image,
                                   const ElfW(Phdr) * *segments) {
    if (image->name[0] == '\0') {
        *segments = (const ElfW(Phdr)*)getauxval(AT_PHDR);
        return *segments == NULL ? 0 : (unsigned)getauxval(AT_PHNUM);
    }
    if (image->bias % LL_PAGE_SIZE != 0 || !ll_address_is_readable(image->bias)) {
        return 0;
    }
    return segments_at(image->bias, segments);
}

unsigned ll_image_segments(const struct ll_image* image, const ElfW(Phdr) * *segments) {
    unsigned count = segments_at(image->start, segments);
    return count != 0 ? count : segments_elsewhere(image, segments);
}

uintptr_t ll_image_readable_until(const struct ll_image* image, uintptr_t address) {
    const ElfW(Phdr) * segments;
    unsigned count = ll_image_segments(image, &segments);
    for (unsigned i = 0; i < count; i++) {
        uintptr_t start = image->bias + segments[i].p_vaddr;
        uintptr_t end = start + segments[i].p_filesz;
        if (segments[i].p_type == PT_LOAD && segments[i].p_flags & PF_R &&
            start <= address && address < end) {
            return end;
        }
    }
    return 0;
}
