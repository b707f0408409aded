// Frees and resizes of what is no block: a sentence for the recording, and who called.
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "base/attributes.h"
#include "entry/blocks.h"
#include "format/records.h"
#include "heap/inspect.h"
#include "process/process.h"
#include "stack/stack.h"

// A program that does it in a loop fills no disk. A few frames tell the place.
enum { REFUSED_MAX = 1000, FRAMES_MAX = 4, TEXT_MAX = 2048, OFFSET_MAX = 20 };

static char* append(char* end, const char* text) {
    size_t length = strlen(text);
    memcpy(end, text, length + 1);
    return end + length;
}

static char* append_hexadecimal(char* end, uint64_t number) {
    int shift = 60;
    while (shift > 0 && number >> shift == 0) {
        shift -= 4;
    }
    for (; shift >= 0; shift -= 4) {
        *end++ = "0123456789abcdef"[number >> shift & 0xf];
    }
    *end = '\0';
    return end;
}

// One line per frame, innermost first, as far as there is room: the path of its module,
// "+0x" and the address of the call relative to where the module was loaded.
static void append_frames(char* end, const char* limit, ll_site site) {
    struct ll_node node;
    struct ll_module module;
    for (unsigned i = 0; i < FRAMES_MAX && ll_node_get(site, &node); i++) {
        if (!ll_module_get(node.module, &module) ||
            strlen(module.path) + OFFSET_MAX > (size_t)(limit - end)) {
            return;
        }
        end = append(append(append(end, "\n"), module.path), "+0x");
        end = append_hexadecimal(end, node.pc - 1 - module.base);
        site = node.parent;
    }
}

// Of blocks that were ours, and of other memory.
struct sentences {
    const char* ours;
    const char* foreign;
};

static void note(const void* block, ll_site site, struct sentences sentences) {
    static _Atomic uint32_t refused;
    if (atomic_fetch_add(&refused, 1) < REFUSED_MAX) {
        char text[TEXT_MAX];
        bool is_ours = ll_is_heap_address((uintptr_t)block);
        char* end = append(text, is_ours ? sentences.ours : sentences.foreign);
        append_frames(end, text + sizeof text, site);
        ll_process_note_not_seen(LL_NOT_SEEN_frees, 0, text);
    }
}

LL_COLD void ll_entry_refused(const void* block, ll_site site) {
    int saved_errno = errno;
    note(block, site,
         (struct sentences){
             .ours = "a block was freed that was free already, or not at its start; "
                     "the call did nothing",
             .foreign =
                 "memory was freed that is no block of the heap; the call did nothing",
         });
    errno = saved_errno;
}

LL_COLD void* ll_entry_not_resized(const void* block, ll_site site) {
    if (!ll_heap_is_block(block)) {
        note(block, site,
             (struct sentences){
                 .ours = "a block was resized that was free already, or not at its "
                         "start; the call failed",
                 .foreign =
                     "memory was resized that is no block of the heap; the call failed",
             });
    }
    errno = ENOMEM;
    return NULL;
}
