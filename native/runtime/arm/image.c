#include "arm/image.h"

#include <sys/mman.h>

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

// It replaces the text at once: code that others run is right at any time.
bool ll_image_put(const struct ll_arm_module* module,
                  const struct ll_patch_target* target) {
    struct image image = find_image(module);
    return is_for_loaded_text(&image, module->plan.header, target) &&
           ll_syscall(SYS_mmap, image.start, image.size_bytes,
                      PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_FIXED,
                      module->plan.file.file, image.offset) == (long)image.start;
}
