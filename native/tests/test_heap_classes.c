// Size classes: every request gets a block with a byte to spare, and every offset into
// a span leads to the right block, for all classes and all offsets.
#include "heap/classes.h"

#include "check.h"
#include "heap/heap.h"
#include "heap/span.h"
#include "patch/shadow.h"

// The first class that has room and is a multiple of that, found the plain way.
static unsigned first_with_room(uint32_t size, uint32_t multiple) {
    unsigned class = 0;
    while (ll_classes[class].block_size <= size ||
           ll_classes[class].block_size % multiple != 0) {
        class++;
    }
    return class;
}

static void every_request_gets_the_first_class_with_a_byte_to_spare(uint32_t multiple) {
    for (uint32_t size = 0; size <= LL_SMALL_MAX; size++) {
        unsigned class = ll_class_for(size);
        CHECK(class < LL_STEPPED_CLASS_COUNT);
        CHECK(class == first_with_room(size, multiple));
    }
}

static void waste_is_bounded(void) {
    for (uint32_t size = 256; size <= LL_SMALL_MAX; size++) {
        CHECK(ll_classes[ll_class_for(size)].block_size <= size + size / 8 + 32);
    }
}

static void check_every_offset(const struct ll_class* class) {
    struct ll_span span = {
        .capacity = class->capacity,
        .start = (uintptr_t)1 << 40,
        .reciprocal = class->reciprocal,
        .block_size = class->block_size,
    };
    uint32_t bytes = class->unit_count * LL_UNIT_SIZE;
    bool index_is_right = true;
    bool start_is_right = true;
    for (uint32_t offset = 0; offset < bytes; offset++) {
        uint32_t index = offset / class->block_size;
        uintptr_t address = span.start + offset;
        bool is_start = offset % class->block_size == 0;
        index_is_right &= ll_span_index(&span, address) == index;
        start_is_right &= ll_span_index_of_start(&span, address) ==
                          (is_start ? index : span.capacity);
    }
    CHECK(index_is_right);
    CHECK(start_is_right);
}

static void every_offset_leads_to_its_block(void) {
    for (unsigned i = 0; i < LL_CLASS_COUNT; i++) {
        const struct ll_class* class = &ll_classes[i];
        CHECK(class->capacity * class->block_size <= class->unit_count * LL_UNIT_SIZE);
        CHECK(class->capacity >= 15);
        check_every_offset(class);
    }
}

// The smallest that will do, found the plain way; LL_CLASS_COUNT if none does. The wide
// steps between 256 and 32 KiB are left to the aligned classes.
static unsigned smallest_aligned(size_t size, size_t alignment) {
    unsigned best = LL_CLASS_COUNT;
    for (unsigned i = 0; i < LL_CLASS_COUNT; i++) {
        uint32_t block_size = ll_classes[i].block_size;
        bool is_candidate = i >= LL_STEPPED_CLASS_COUNT || block_size <= 256;
        if (is_candidate && block_size > size && block_size % alignment == 0 &&
            (best == LL_CLASS_COUNT || block_size < ll_classes[best].block_size)) {
            best = i;
        }
    }
    return best;
}

static void aligned_requests_get_the_smallest_aligned_class(void) {
    for (size_t alignment = 32; alignment <= 65536; alignment *= 2) {
        for (size_t size = 0; size <= 40000; size++) {
            unsigned class = ll_class_for_aligned(size, alignment);
            CHECK(class == smallest_aligned(size, alignment));
        }
    }
}

int main(void) {
    ll_classes_start();
    every_request_gets_the_first_class_with_a_byte_to_spare(16);
    waste_is_bounded();
    every_offset_leads_to_its_block();
    aligned_requests_get_the_smallest_aligned_class();
    ll_heap_align_blocks(LL_GRANULE_BYTES);
    ll_classes_start();
    every_request_gets_the_first_class_with_a_byte_to_spare(LL_GRANULE_BYTES);
    waste_is_bounded();
    return failures != 0;
}
