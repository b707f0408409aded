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

struct copy {
    const struct image* image;
    uint8_t* bytes;
    bool is_whole; // false: a group lies outside of the text
};

static void write_back(const struct ll_arm_module* module,
                       const struct ll_arm_site* site, struct copy* copy) {
    uint64_t text_address = (uint64_t)module->plan.header->text_address;
    uint64_t offset = ll_arm_jump_at(site) - text_address;
    if (offset > copy->image->size_bytes - LL_ARM_JUMP_LENGTH) {
        copy->is_whole = false;
        return;
    }
    for (uint8_t i = 0; i < site->armed_length; i++) {
        copy->bytes[offset + i] = site->original[i];
    }
}

// Groups without stubs run as they are.
static void write_back_unfit(struct ll_arm_module* module, uint32_t number,
                             void* context) {
    const struct ll_arm_site* site = &module->plan.sites[number];
    if (!ll_stubs_are_mapped(module, site)) {
        ll_arm_set_unfit(module, number);
        write_back(module, site, context);
    }
}

// It is made ready elsewhere: code that others run is right at any time.
static bool put_in_place(struct ll_arm_module* module, struct copy* copy) {
    size_t size = copy->image->size_bytes;
    if (module->lacks_room) {
        ll_arm_visit_groups(module, write_back_unfit, copy);
    }
    long start = (long)copy->image->start;
    return copy->is_whole && ll_syscall(SYS_mremap, copy->bytes, size, size,
                                        MREMAP_MAYMOVE | MREMAP_FIXED, start) == start;
}

bool ll_image_arm(struct ll_arm_module* module, const struct ll_patch_target* target) {
    struct image image = find_image(module);
    if (!is_for_loaded_text(&image, module->plan.header, target)) {
        return false;
    }
    long mapped =
        ll_syscall(SYS_mmap, 0, image.size_bytes, PROT_READ | PROT_WRITE | PROT_EXEC,
                   MAP_PRIVATE, module->plan.file.file, image.offset);
    if (mapped < 0) {
        return false;
    }
    struct copy copy = {.image = &image, .bytes = (uint8_t*)mapped, .is_whole = true};
    if (!put_in_place(module, &copy)) {
        ll_syscall(SYS_munmap, mapped, image.size_bytes);
        return false;
    }
    return true;
}
