#include "arm/image.h"

#include <sys/mman.h>

#include "arm/stubs.h"
#include "os/memory.h"
#include "os/syscall.h"

struct image {
    uintptr_t start; // where it belongs
    size_t size_bytes;
    size_t offset; // in the file
};

static struct image find_image(const struct ll_arm_module* module) {
    const struct ll_arm_header* header = module->plan.header;
    return (struct image){
        .start = module->bias + (uintptr_t)header->text_address,
        .size_bytes = (size_t)header->text_page_count * LL_PAGE_SIZE,
        .offset = ((size_t)header->page_count + 1) * LL_PAGE_SIZE,
    };
}

static bool is_for_loaded_text(const struct image* image,
                               const struct ll_arm_header* header,
                               const struct ll_patch_target* target) {
    struct ll_text_sum sum = {0};
    uintptr_t offset = image->start - target->text_start;
    size_t text_bytes = target->text_end - target->text_start;
    if (image->size_bytes == 0 || image->start % LL_PAGE_SIZE != 0 ||
        offset > text_bytes || image->size_bytes > text_bytes - offset) {
        return false;
    }
    ll_text_sum_add(&sum, image->start, image->size_bytes);
    return sum.words == header->text_sum.words &&
           sum.prefixes == header->text_sum.prefixes;
}

static bool write_back(const struct ll_arm_plan* plan, const struct ll_arm_site* site,
                       uint8_t* copy, const struct image* image) {
    uint64_t offset = ll_arm_jump_at(site) - (uint64_t)plan->header->text_address;
    if (offset > image->size_bytes - LL_ARM_JUMP_LENGTH) {
        return false;
    }
    for (uint8_t i = 0; i < site->armed_length; i++) {
        copy[offset + i] = site->original[i];
    }
    return true;
}

// Groups without stubs run as they are. False when a group lies outside of the text.
static bool write_back_unfit(struct ll_arm_module* module, uint8_t* copy,
                             const struct image* image) {
    const struct ll_arm_site* sites = module->plan.sites;
    uint32_t count = module->plan.header->site_count;
    for (uint32_t i = 0; i < count; i += sites[i].site_count) {
        if (ll_stubs_are_mapped(module, &sites[i])) {
            continue;
        }
        module->unfit[i / 8] |= (uint8_t)(1 << i % 8);
        module->unfit_count += sites[i].site_count;
        if (!write_back(&module->plan, &sites[i], copy, image)) {
            return false;
        }
    }
    return true;
}

bool ll_image_arm(struct ll_arm_module* module, const struct ll_patch_target* target) {
    struct image image = find_image(module);
    if (!is_for_loaded_text(&image, module->plan.header, target)) {
        return false;
    }
    // It is made ready elsewhere: code that others run is right at any time.
    long copy =
        ll_syscall(SYS_mmap, 0, image.size_bytes, PROT_READ | PROT_WRITE | PROT_EXEC,
                   MAP_PRIVATE, module->plan.file.file, image.offset);
    if (copy < 0) {
        return false;
    }
    if ((!module->lacks_room || write_back_unfit(module, (uint8_t*)copy, &image)) &&
        ll_syscall(SYS_mremap, copy, image.size_bytes, image.size_bytes,
                   MREMAP_MAYMOVE | MREMAP_FIXED, image.start) == (long)image.start) {
        return true;
    }
    ll_syscall(SYS_munmap, copy, image.size_bytes);
    return false;
}
