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

static bool is_written(const struct ll_arm_module* module, uint32_t page) {
    uint8_t byte = __atomic_load_n(&module->written[page / 8], __ATOMIC_RELAXED);
    return (byte >> page % 8 & 1) != 0;
}

void ll_image_let_go(const struct ll_arm_module* module) {
    if (module->written == NULL) {
        return;
    }
    uintptr_t start = find_image(module).start;
    uint32_t count = module->plan.header->text_page_count;
    for (uint32_t page = 0; page < count; page++) {
        uint32_t first = page;
        while (page < count && !is_written(module, page)) {
            page++;
        }
        if (page > first) {
            ll_syscall(SYS_madvise, start + (uintptr_t)first * LL_PAGE_SIZE,
                       (size_t)(page - first) * LL_PAGE_SIZE, MADV_DONTNEED);
        }
    }
}

bool ll_image_will_be_written(const struct ll_arm_module* module, uintptr_t start,
                              uintptr_t end) {
    struct image image = find_image(module);
    uintptr_t image_end = image.start + image.size_bytes;
    if (module->written == NULL || end <= image.start || image_end <= start) {
        return false;
    }
    uintptr_t first = start > image.start ? start : image.start;
    uintptr_t last = (end < image_end ? end : image_end) - 1;
    for (uintptr_t at = first; at <= last; at = (at | (LL_PAGE_SIZE - 1)) + 1) {
        ll_image_will_write(module, (uint32_t)(at - module->bias));
    }
    return true;
}
