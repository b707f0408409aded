// The C allocation functions, with glibc's results and errno in every case. A pointer
// to free that is no block of ours (or no longer one) is left alone, and not resized.
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "entry/blocks.h"
#include "entry/site.h"
#include "os/memory.h"
#include "process/process.h"
#include "stack/handed.h"

bool ll_entry_is_started;

// malloc may be called again from here; ll_process_start then returns at once.
LL_COLD void ll_entry_start(void) {
    int saved_errno = errno;
    ll_process_start();
    ll_entry_is_started = true;
    errno = saved_errno;
}

static LL_COLD void* out_of_memory(void) {
    errno = ENOMEM;
    return NULL;
}

LL_INLINE void* or_enomem(void* block) {
    return LL_LIKELY(block != NULL) ? ll_entry_born(block) : out_of_memory();
}

static LL_NOINLINE void* allocate(size_t size, uintptr_t pc, uintptr_t sp,
                                  uintptr_t rbp) {
    ll_site site = ll_entry_site((struct ll_caller){.pc = pc, .sp = sp, .rbp = rbp});
    void* block = ll_entry_allocate(size, site);
    return LL_LIKELY(block != NULL) ? block : out_of_memory();
}

LL_EXPORT void* malloc(size_t size) {
    struct ll_caller caller = LL_CALLER();
    return LL_UNLIKELY(ll_entry_only_stamps())
               ? ll_entry_allocate_stamped(size, caller.sp, caller.rbp)
               : allocate(size, caller.pc, caller.sp, caller.rbp);
}

LL_EXPORT void free(void* block) {
    if (LL_LIKELY(block != NULL)) {
        ll_entry_free(block, LL_CALLER());
    } else {
        ll_handed_drop();
    }
}

LL_EXPORT void cfree(void* block);
LL_EXPORT void cfree(void* block) {
    free(block);
}

LL_EXPORT void* calloc(size_t count, size_t size) {
    size_t total;
    if (LL_UNLIKELY(__builtin_mul_overflow(count, size, &total))) {
        return out_of_memory();
    }
    return or_enomem(ll_heap_allocate_zeroed(total, LL_SITE()));
}

LL_INLINE void touch_resized(struct ll_resized resized) {
    if (LL_LIKELY(resized.word != NULL)) {
        ll_touch_birth_at(resized.word);
    } else {
        ll_touch_birth(resized.block);
    }
}

LL_INLINE void* reallocate(void* block, size_t size, ll_site site) {
    if (block == NULL) {
        void* first = ll_entry_allocate(size, site);
        return LL_LIKELY(first != NULL) ? first : out_of_memory();
    }
    if (size == 0) {
        LL_ENTRY_RELEASE(block, site);
        return NULL;
    }
    struct ll_resized resized = LL_UNLIKELY(ll_stamps_on)
                                    ? ll_entry_reallocate_stamped(block, size, site)
                                    : ll_heap_reallocate(block, size, site);
    if (LL_UNLIKELY(resized.block == NULL)) {
        return ll_entry_not_resized(block, site);
    }
    if (LL_UNLIKELY(ll_touches_on)) {
        touch_resized(resized);
    }
    return resized.block;
}

LL_EXPORT void* realloc(void* block, size_t size) {
    return reallocate(block, size, LL_SITE());
}

LL_EXPORT void* reallocarray(void* block, size_t count, size_t size) {
    size_t total;
    if (LL_UNLIKELY(__builtin_mul_overflow(count, size, &total))) {
        return out_of_memory();
    }
    return reallocate(block, total, LL_SITE());
}

static bool is_power_of_two(size_t number) {
    return number != 0 && (number & (number - 1)) == 0;
}

// As glibc does: other alignments become the next power of two.
static void* allocate_aligned(size_t alignment, size_t size, ll_site site) {
    if (alignment > SIZE_MAX / 2 + 1) {
        errno = EINVAL;
        return NULL;
    }
    size_t rounded = 16;
    while (rounded < alignment) {
        rounded *= 2;
    }
    return or_enomem(ll_heap_allocate_aligned(size, rounded, site));
}

LL_EXPORT void* memalign(size_t alignment, size_t size);
LL_EXPORT void* memalign(size_t alignment, size_t size) {
    return allocate_aligned(alignment, size, LL_SITE());
}

LL_EXPORT void* aligned_alloc(size_t alignment, size_t size) {
    return allocate_aligned(alignment, size, LL_SITE());
}

LL_EXPORT int posix_memalign(void** result, size_t alignment, size_t size) {
    if (alignment % sizeof(void*) != 0 || !is_power_of_two(alignment)) {
        return EINVAL;
    }
    void* block = or_enomem(ll_heap_allocate_aligned(size, alignment, LL_SITE()));
    if (block == NULL) {
        return ENOMEM;
    }
    *result = block;
    return 0;
}

LL_EXPORT void* valloc(size_t size) {
    return allocate_aligned(LL_PAGE_SIZE, size, LL_SITE());
}

LL_EXPORT void* pvalloc(size_t size);
LL_EXPORT void* pvalloc(size_t size) {
    size_t pages = (size + LL_PAGE_SIZE - 1) & ~(size_t)(LL_PAGE_SIZE - 1);
    if (pages < size) {
        return out_of_memory();
    }
    return allocate_aligned(LL_PAGE_SIZE, pages, LL_SITE());
}

LL_EXPORT size_t malloc_usable_size(void* block);
LL_EXPORT size_t malloc_usable_size(void* block) {
    return ll_heap_usable_size(block);
}
