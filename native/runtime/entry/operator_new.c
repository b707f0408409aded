// C++'s operator new and delete in all their forms, defined by their mangled names so
// that the runtime needs no C++ library. When memory runs out, the program's own C++
// library takes over: it calls the new-handler and throws as it always does.
#include <dlfcn.h>
#include <stdlib.h>

#include "entry/blocks.h"
#include "entry/site.h"

// std::align_val_t and std::nothrow_t, as far as calls are concerned.
typedef size_t alignment_value;
typedef const void* nothrow;

typedef void* new_function(size_t size);
typedef void* new_nothrow_function(size_t size, nothrow tag);
typedef void* new_aligned_function(size_t size, alignment_value alignment);
typedef void* new_aligned_nothrow_function(size_t size, alignment_value alignment,
                                           nothrow tag);

// The C++ library's function; its caller has no way to go on without it.
static void* next(const char* name) {
    void* function = dlsym(RTLD_NEXT, name);
    if (function == NULL) {
        abort();
    }
    return function;
}

static LL_COLD void* fail(const char* name, size_t size) {
    return ((new_function*)next(name))(size);
}

static LL_COLD void* fail_nothrow(const char* name, size_t size, nothrow tag) {
    return ((new_nothrow_function*)next(name))(size, tag);
}

static LL_COLD void* fail_aligned(const char* name, size_t size,
                                  alignment_value alignment) {
    return ((new_aligned_function*)next(name))(size, alignment);
}

static LL_COLD void* fail_aligned_nothrow(const char* name, size_t size,
                                          alignment_value alignment, nothrow tag) {
    return ((new_aligned_nothrow_function*)next(name))(size, alignment, tag);
}

#define DEFINE_NEW(name)                                                               \
    LL_EXPORT void* name(size_t size);                                                 \
    LL_EXPORT void* name(size_t size) {                                                \
        void* block = ll_entry_allocate(size, LL_SITE());                              \
        return LL_LIKELY(block != NULL) ? block : fail(#name, size);                   \
    }

#define DEFINE_NEW_NOTHROW(name)                                                       \
    LL_EXPORT void* name(size_t size, nothrow tag);                                    \
    LL_EXPORT void* name(size_t size, nothrow tag) {                                   \
        void* block = ll_entry_allocate(size, LL_SITE());                              \
        return LL_LIKELY(block != NULL) ? block : fail_nothrow(#name, size, tag);      \
    }

#define DEFINE_NEW_ALIGNED(name)                                                       \
    LL_EXPORT void* name(size_t size, alignment_value alignment);                      \
    LL_EXPORT void* name(size_t size, alignment_value alignment) {                     \
        void* block = ll_heap_allocate_aligned(size, alignment, LL_SITE());            \
        return LL_LIKELY(block != NULL) ? ll_entry_born(block)                         \
                                        : fail_aligned(#name, size, alignment);        \
    }

#define DEFINE_NEW_ALIGNED_NOTHROW(name)                                               \
    LL_EXPORT void* name(size_t size, alignment_value alignment, nothrow tag);         \
    LL_EXPORT void* name(size_t size, alignment_value alignment, nothrow tag) {        \
        void* block = ll_heap_allocate_aligned(size, alignment, LL_SITE());            \
        return LL_LIKELY(block != NULL)                                                \
                   ? ll_entry_born(block)                                              \
                   : fail_aligned_nothrow(#name, size, alignment, tag);                \
    }

DEFINE_NEW(_Znwm)
DEFINE_NEW(_Znam)
DEFINE_NEW_NOTHROW(_ZnwmRKSt9nothrow_t)
DEFINE_NEW_NOTHROW(_ZnamRKSt9nothrow_t)
DEFINE_NEW_ALIGNED(_ZnwmSt11align_val_t)
DEFINE_NEW_ALIGNED(_ZnamSt11align_val_t)
DEFINE_NEW_ALIGNED_NOTHROW(_ZnwmSt11align_val_tRKSt9nothrow_t)
DEFINE_NEW_ALIGNED_NOTHROW(_ZnamSt11align_val_tRKSt9nothrow_t)

// Every form of delete frees the block; what else it is told is of no use here.
#define DEFINE_DELETE(name, ...)                                                       \
    LL_EXPORT void name(void* block, ##__VA_ARGS__);                                   \
    LL_EXPORT void name(void* block, ##__VA_ARGS__) {                                  \
        if (LL_LIKELY(block != NULL)) {                                                \
            ll_entry_free(block, LL_CALLER());                                         \
        }                                                                              \
    }

#define UNUSED __attribute__((unused))

DEFINE_DELETE(_ZdlPv)
DEFINE_DELETE(_ZdaPv)
DEFINE_DELETE(_ZdlPvm, size_t size UNUSED)
DEFINE_DELETE(_ZdaPvm, size_t size UNUSED)
DEFINE_DELETE(_ZdlPvRKSt9nothrow_t, nothrow tag UNUSED)
DEFINE_DELETE(_ZdaPvRKSt9nothrow_t, nothrow tag UNUSED)
DEFINE_DELETE(_ZdlPvSt11align_val_t, alignment_value alignment UNUSED)
DEFINE_DELETE(_ZdaPvSt11align_val_t, alignment_value alignment UNUSED)
DEFINE_DELETE(_ZdlPvmSt11align_val_t, size_t size UNUSED,
              alignment_value alignment UNUSED)
DEFINE_DELETE(_ZdaPvmSt11align_val_t, size_t size UNUSED,
              alignment_value alignment UNUSED)
DEFINE_DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, alignment_value alignment UNUSED,
              nothrow tag UNUSED)
DEFINE_DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, alignment_value alignment UNUSED,
              nothrow tag UNUSED)
