#include "lens/old_words.h"

#include "base/options.h"
#include "heap/inspect.h"
#include "lens/injector.h"

void ll_old_words_start(void) {
    if (ll_options.clear_freed) {
        ll_releases_watched |= LL_RELEASES_CLEARED;
    }
}

void ll_old_words_clear(uintptr_t start, uintptr_t end) {
    for (uintptr_t at = start; at + sizeof(uint64_t) <= end; at += sizeof(uint64_t)) {
        uint64_t* word = (uint64_t*)at;
        if (ll_is_heap_address(*word)) {
            *word = 0;
        }
    }
}
