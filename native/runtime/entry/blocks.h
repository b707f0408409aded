// What every entry function does with a new block and with one that goes, besides what
// the heap does: lens `loss` wants to know of both.
#pragma once
#include "base/attributes.h"
#include "entry/site.h"
#include "heap/heap.h"
#include "heap/quick.h"
#include "lens/injector.h"
#include "lens/siblings.h"
#include "lens/stamps.h"
#include "lens/touches.h"

LL_INLINE void* ll_entry_born(void* block) {
    if (LL_UNLIKELY(ll_stamps_on) && block != NULL) {
        ll_stamp_birth((uintptr_t)block);
    }
    if (LL_UNLIKELY(ll_touches_on) && block != NULL) {
        ll_touch_birth(block);
    }
    return block;
}

// As ll_heap_allocate, for a block that is born. The usual block is not looked up again
// for those who want to know of it.
LL_INLINE void* ll_entry_allocate(size_t size_bytes, ll_site site) {
    struct ll_quick known;
    void* block = ll_quick_take(size_bytes, site, &known);
    if (LL_UNLIKELY(block == NULL)) {
        return ll_entry_born(ll_heap_allocate_slowly(size_bytes, site).block);
    }
    if (LL_UNLIKELY(ll_stamps_on)) {
        ll_stamp_birth((uintptr_t)block);
    }
    if (LL_UNLIKELY(ll_touches_on)) {
        ll_touch_birth_at(known.word);
    }
    return block;
}

// `site` is evaluated only for frees of which somebody wants to know: taking a stack
// costs more than all else.
#define LL_ENTRY_RELEASE(block, site)                                                  \
    do {                                                                               \
        if (ll_siblings_want(block)) {                                                 \
            ll_siblings_note((block), (site));                                         \
        }                                                                              \
        if (LL_UNLIKELY(ll_releases_watched != 0)) {                                   \
            struct ll_watched words = ll_entry_watched_words(block);                   \
            if (words.end != 0 && !ll_entry_before_release((block), words, (site))) {  \
                break;                                                                 \
            }                                                                          \
        }                                                                              \
        if (LL_UNLIKELY(!ll_heap_release(block))) {                                    \
            ll_entry_refused((block), (site));                                         \
        }                                                                              \
    } while (0)

// Losses are stamped and nothing else is wanted: the calls that only allocate or only
// free have quick ways of their own then.
LL_INLINE bool ll_entry_only_stamps(void) {
    return ll_releases_watched == LL_RELEASES_STAMPED && LL_LIKELY(!ll_touches_on);
}

// The caller is that of malloc or free, in registers, as for ll_stack_capture; its
// return address lies below `sp`. The block is NULL, and errno set, when memory ran
// out.
void* ll_entry_allocate_stamped(size_t size_bytes, uintptr_t sp, uintptr_t rbp);
void ll_entry_free_stamped(void* block, uintptr_t sp, uintptr_t rbp);

// Frees a block for a caller that wants nothing else of it.
void ll_entry_free_otherwise(void* block, uintptr_t pc, uintptr_t sp, uintptr_t rbp);

LL_INLINE void ll_entry_free(void* block, struct ll_caller caller) {
    if (LL_UNLIKELY(ll_entry_only_stamps())) {
        ll_entry_free_stamped(block, caller.sp, caller.rbp);
    } else {
        ll_entry_free_otherwise(block, caller.pc, caller.sp, caller.rbp);
    }
}

// Notes that and where a program frees what is no block: one that is freed already, or
// memory that did not come from here. The call does nothing.
void ll_entry_refused(const void* block, ll_site site);

// realloc could not do its work: NULL, with errno set. Notes it where the reason is
// that there is no such block.
void* ll_entry_not_resized(const void* block, ll_site site);

// Which words of a block that is about to be freed somebody has to look at.
struct ll_watched {
    uintptr_t first; // no word before it is a reference
    uintptr_t end;   // of the block; 0 when it does not matter by which stack it goes
};

// It does when the block refers to others, or when some frees are not to happen.
struct ll_watched ll_entry_watched_words(const void* block);

// Tells those who want to know of such a free; false when it is not to happen.
bool ll_entry_before_release(void* block, struct ll_watched words, ll_site site);

// realloc of a block while losses are stamped: references that move with the contents
// are not lost, those behind a smaller size are, and none stays behind. NULL when
// memory ran out or no block starts there.
struct ll_resized ll_entry_reallocate_stamped(void* block, size_t size_bytes,
                                              ll_site site);
