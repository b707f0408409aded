#include "lens/stamps.h"

#include <sys/uio.h>

#include "base/attributes.h"
#include "base/options.h"
#include "heap/inspect.h"
#include "lens/injector.h"
#include "lens/ordinals.h"
#include "lens/scan.h"
#include "os/memory.h"
#include "os/residence.h"
#include "os/syscall.h"
#include "patch/births.h"
#include "patch/hooks.h"
#include "patch/loss_page.h"
#include "patch/origin.h"
#include "patch/shadow.h"
#include "patch/site_hooks.h"

// Of memory that is unmapped, so much is read at a time: the stack may be a signal's.
enum { PIECE_BYTES = 1024 };

// What the runtime writes in place of a return address; no code lies this low. Above
// the mark's own bits stands the number of the word in the freed block, or below the
// frame or the thread pointer of a thread that ended.
enum {
    MARK_BIRTH = LL_STAMP_MARK_BIRTH,
    MARK_FREED = 2,
    MARK_UNMAPPED = 3,
    MARK_THREAD_EXIT = 4,
    MARK_THREAD_VARIABLE = 5,
    MARK_JUMPED_OVER = 6,
    MARK_BITS = 4,
    MARK_LIMIT = 0x10000,
};

bool ll_stamps_on;

static uintptr_t shadow_start(void) {
    return (uintptr_t)ll_stamp_of((uintptr_t)LL_HEAP_TAG << 40);
}

// Births lie behind the stamps.
static size_t claimed_size(void) {
    return ll_births_on ? 2 * (size_t)LL_BIRTH_DELTA : (size_t)LL_BIRTH_DELTA;
}

static bool ends_block(uintptr_t pointer) {
    struct ll_block block;
    return ll_block_at(pointer - 1, &block) &&
           pointer - ll_block_start(block) <= ll_block_size(block);
}

// A pointer may be one past the end of its block.
static uint32_t is_gone(uintptr_t pointer) {
    struct ll_block block;
    return ll_block_locate(pointer, &block) && !ll_block_is_live(block) &&
           !ends_block(pointer);
}

bool ll_stamps_start(void) {
    if (!ll_is_heap_address((uintptr_t)LL_HEAP_TAG << 40)) {
        return false;
    }
    if (ll_options.births && !ll_births_start()) {
        return false;
    }
    ll_stamps_on = ll_hooks_start(&ll_range.used_bytes) &&
                   ll_memory_claim(shadow_start(), claimed_size());
    if (ll_stamps_on && ll_births_on) {
        ll_site_hooks_start();
    }
    if (ll_stamps_on) {
        ll_loss_page()->is_gone = is_gone;
    }
    ll_releases_watched |= ll_stamps_on ? LL_RELEASES_STAMPED : 0;
    if (ll_births_on || ll_origins_with_stacks()) {
        ll_stack_keep_nodes();
    }
    return ll_stamps_on;
}

void ll_stamps_end(void) {
    ll_stamps_on = false;
    ll_releases_watched &= (uint8_t)~LL_RELEASES_STAMPED;
    ll_memory_unmap((void*)shadow_start(), claimed_size());
}

static void stamp(uintptr_t address, uint32_t place, uint64_t mark) {
    *ll_stamp_of(address) = ll_stamp_pack_mark(ll_hooks_tick(), mark, place);
}

static uint64_t mark_with(uint64_t mark, uintptr_t offset) {
    uintptr_t farthest = LL_STAMP_FAR;
    return (offset < farthest ? offset : farthest) / 8 << MARK_BITS | mark;
}

// Keeps its birth and tells those who follow losses.
static void tell_freed(uintptr_t slot, uintptr_t lost, uint32_t site) {
    if (ll_births_on) {
        ll_births_carry(slot, lost);
    }
    if (ll_ordinals_on) {
        ll_ordinals_lost(lost, site);
    }
}

void ll_stamp_freed(uintptr_t block, uintptr_t start, uintptr_t end, uint32_t site) {
    uintptr_t last = ll_words_end(start, end);
    uintptr_t first =
        ll_is_searched(end - block) ? ll_next_reference(start, last) : last;
    if (first != last) {
        ll_stamp_freed_from(block, first, end, site);
    }
}

// What goes with one block goes at one time.
void ll_stamp_freed_from(uintptr_t block, uintptr_t at, uintptr_t end, uint32_t site) {
    uintptr_t last = ll_words_end(at, end);
    bool is_told = ll_births_on || ll_ordinals_on;
    uint64_t now = ll_hooks_tick();
    do {
        uint64_t* word = (uint64_t*)at;
        uintptr_t lost = *word;
        *ll_stamp_of(lost) =
            ll_stamp_pack_mark(now, mark_with(MARK_FREED, at - block), site);
        *word = 0;
        if (LL_UNLIKELY(is_told)) {
            tell_freed(at, lost, site);
        }
        at += sizeof(uint64_t);
        // References often stand side by side.
        if (at != last && !ll_is_heap_address(*(const uint64_t*)at)) {
            at = ll_next_reference(at, last);
        }
    } while (at != last);
}

// `words` are what the memory from `slot` on holds.
static void stamp_words(const uint64_t* words, size_t count, uintptr_t slot,
                        uint32_t node, uint64_t mark) {
    for (size_t i = 0; i < count; i++) {
        if (ll_is_heap_address(words[i])) {
            if (ll_births_on) {
                ll_births_carry(slot + i * sizeof *words, words[i]);
            }
            stamp(words[i], node, mark);
        }
    }
}

void ll_stamp_gone(uintptr_t slot, uintptr_t pointer, uint32_t site) {
    stamp_words(&pointer, 1, slot, site, MARK_UNMAPPED);
}

// What is done with each piece of memory; `slot` is where `words` lie.
typedef void piece_visitor(const uint64_t* words, uintptr_t slot, void* context);

// Read by a system call, which fails where a load would raise a signal.
static void visit_piece(uintptr_t start, piece_visitor* visit, void* context) {
    uint64_t copy[PIECE_BYTES / sizeof(uint64_t)];
    struct iovec local = {copy, sizeof copy};
    struct iovec remote = {(void*)start, sizeof copy};
    long self = ll_syscall(SYS_getpid);
    long got = ll_syscall(SYS_process_vm_readv, self, &local, 1, &remote, 1, 0);
    if (got == (long)sizeof copy) {
        visit(copy, start, context);
    }
}

static void visit_pieces(uintptr_t start, size_t size_bytes, piece_visitor* visit,
                         void* context) {
    uintptr_t page = start & -(uintptr_t)LL_PAGE_SIZE;
    uintptr_t end = (start + size_bytes + LL_PAGE_SIZE - 1) & -(uintptr_t)LL_PAGE_SIZE;
    if (end <= page || !ll_is_searched(size_bytes)) {
        return;
    }
    struct ll_residence residence;
    uintptr_t run_start;
    uintptr_t run_end;
    ll_residence_open(&residence);
    while (ll_residence_next(&residence, residence.private_source, page, end,
                             &run_start, &run_end)) {
        for (page = run_start; page < run_end; page += PIECE_BYTES) {
            visit_piece(page, visit, context);
        }
    }
    ll_residence_close(&residence);
}

static void stamp_piece(const uint64_t* words, uintptr_t slot, void* site) {
    size_t count = PIECE_BYTES / sizeof *words;
    stamp_words(words, count, slot, *(const uint32_t*)site, MARK_UNMAPPED);
}

void ll_stamp_unmapped(uintptr_t start, size_t size_bytes, uint32_t site) {
    visit_pieces(start, size_bytes, stamp_piece, &site);
}

static void move_births(const uint64_t* words, uintptr_t slot, void* distance) {
    uintptr_t from = slot - *(const uintptr_t*)distance;
    ll_births_move(from, slot, words, PIECE_BYTES / sizeof *words);
}

void ll_stamp_moved(uintptr_t from, uintptr_t to, size_t size_bytes) {
    uintptr_t distance = to - from;
    if (ll_births_on && distance != 0) {
        visit_pieces(to, size_bytes, move_births, &distance);
    }
}

// Slots above `pointer` are libc's own, and nobody's variables.
static void stamp_below(uintptr_t start, uintptr_t end, uintptr_t pointer,
                        uint32_t node, uint64_t mark) {
    for (uintptr_t slot = (start + 7) & -(uintptr_t)8; slot < end; slot += 8) {
        uintptr_t below = slot < pointer ? pointer - slot : LL_STAMP_FAR;
        stamp_words((const uint64_t*)slot, 1, slot, node, mark_with(mark, below));
    }
}

void ll_stamp_thread_exit(const struct ll_ending* ending) {
    stamp_below(ending->frames_start, ending->frames_end, ending->frames_end,
                ending->node, MARK_THREAD_EXIT);
    stamp_below(ending->frames_end, ending->end, (uintptr_t)__builtin_thread_pointer(),
                ending->node, MARK_THREAD_VARIABLE);
}

void ll_stamp_jumped_over(uintptr_t slot, uintptr_t pointer, uint32_t node) {
    stamp_words(&pointer, 1, slot, node, MARK_JUMPED_OVER);
}

static uint32_t cause_of(uint64_t mark, uint64_t clock) {
    switch (mark) {
    case MARK_FREED:
        return LL_STAMP_freed;
    case MARK_UNMAPPED:
        return LL_STAMP_unmapped;
    case MARK_THREAD_EXIT:
        return LL_STAMP_thread_exit;
    case MARK_THREAD_VARIABLE:
        return LL_STAMP_thread_variable;
    case MARK_JUMPED_OVER:
        return LL_STAMP_jumped_over;
    case MARK_BIRTH:
        return LL_STAMP_none;
    default:
        return clock == 0 ? LL_STAMP_none : LL_STAMP_store;
    }
}

static struct ll_stamp read_stamp(struct ll_granule_stamp raw) {
    uint64_t caller = ll_stamp_caller(raw);
    struct ll_stamp result = {
        .clock = ll_stamp_clock(raw),
        .place = ll_stamp_place(raw),
        .cause = LL_STAMP_store,
    };
    if (caller >= MARK_LIMIT) {
        result.return_address = caller;
    } else {
        result.cause = cause_of(caller & ((1U << MARK_BITS) - 1), result.clock);
        result.offset = (uint32_t)(caller >> MARK_BITS) * 8;
    }
    return result;
}

struct ll_stamp ll_stamp_latest(uintptr_t block, size_t size_bytes) {
    struct ll_granule_stamp latest = {0};
    uintptr_t granule = block;
    for (uintptr_t at = block; at <= block + size_bytes; at += LL_GRANULE_BYTES) {
        struct ll_granule_stamp candidate = *ll_stamp_of(at);
        if (ll_stamp_clock(candidate) > ll_stamp_clock(latest)) {
            latest = candidate;
            granule = at;
        }
    }
    struct ll_stamp result = read_stamp(latest);
    result.granule = granule;
    return result;
}

static bool tells_node(const struct ll_stamp* stamp) {
    return stamp->cause != LL_STAMP_none && stamp->cause != LL_STAMP_store &&
           stamp->place != 0;
}

// Stamps of a block lie side by side: so many are looked at as fast as one block.
enum { STAMPS_PER_WORD = 8 };

uint64_t ll_stamp_rename(uintptr_t block, size_t size_bytes, ll_node_renaming* rename) {
    struct ll_stamp latest = ll_stamp_latest(block, size_bytes);
    if (tells_node(&latest)) {
        struct ll_granule_stamp* stamp = ll_stamp_of(latest.granule);
        *stamp =
            ll_stamp_pack(latest.clock, ll_stamp_caller(*stamp), rename(latest.place));
    }
    return size_bytes / LL_GRANULE_BYTES / STAMPS_PER_WORD + 1;
}
