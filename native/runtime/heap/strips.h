// A *strip* is a run of pages of a span that holds blocks of one context. Strips of all
// contexts that need a class lie in the same spans, so that a context takes the pages
// that it fills and no others. No block lies on two strips: places across a border stay
// empty. A strip is *open* while a cursor fills it, *closed* after that; closed ones go
// back to their class when they are empty, and to their cursor when a quarter of them
// is free.
//
// One lock guards all strips. Nobody waits for it: whoever finds it taken does
// something else, so that signal handlers may come in anywhere. Functions want it held,
// except where said otherwise.
#pragma once
#include "heap/page_states.h"
#include "heap/span.h"
#include "os/lock.h"

enum ll_strip_state {
    LL_STRIP_FREE, // or no strip at all
    LL_STRIP_OPEN,
    LL_STRIP_CLOSED,
    LL_STRIP_REUSABLE, // closed, and in its cursor's list
};

// What every allocation and free needs of a strip; the rest lies apart.
struct ll_strip {
    uint16_t taken;     // blocks so far, written by the cursor
    uint16_t freed;     // of these
    uint16_t sparse_at; // so many live: a quarter of its places is free
    uint8_t state;      // ll_strip_state
    bool is_pending;    // in the list of strips to be settled
};

// Fills one strip after the other with blocks of one context and one class.
struct ll_cursor {
    struct ll_cursor* next; // of the same context
    struct ll_lock lock;    // never waited for; whoever holds it may try that of strips
    uint32_t class;
    struct ll_strip* strip; // NULL: none
    struct ll_span* span;   // of the strip
    uint32_t index;         // first place that was not looked at yet
    uint32_t end;           // behind the last place of the strip
    bool is_second_pass;    // the strip was full before
    uint64_t allocated;     // blocks
    struct ll_strip* reusable;
};

// Switches strips on, with so many pages as one of them is to have at least; before the
// heap's start. False without address space.
bool ll_strips_start(size_t least_pages);

// The range now has that many bytes. Under the lock of the units; false without memory.
bool ll_strips_extend(size_t used_bytes);

// Takes the lock, unless it stays taken.
bool ll_strips_try_lock(void);
void ll_strips_unlock(void);

// Puts the cursor at the start of a strip: of one to be used again, or of another.
// False when memory ran out.
bool ll_strips_open_reusable(struct ll_cursor* cursor);
bool ll_strips_open_free(struct ll_cursor* cursor);

// Whether the next free strip of the class would take memory that the heap has not
// taken yet.
bool ll_strips_would_grow(unsigned class);

// Takes the strip from its cursor.
void ll_strips_close(struct ll_cursor* cursor);

// The same when the cursor found no place on it: it is left alone unless it is empty.
void ll_strips_close_worn(struct ll_cursor* cursor);

// The same with a strip that has no block, unless its cursor is at work.
void ll_strips_close_if_empty(struct ll_cursor* cursor);

// Back to the first place of the strip when no block on it lives, which takes no lock.
bool ll_strips_rewind(struct ll_cursor* cursor);

// The strip of a block; no lock needed.
struct ll_strip* ll_strip_of(const struct ll_span* span, const void* block);

// A block of the strip was freed. Takes locks itself.
void ll_strip_note_freed(struct ll_strip* strip);

// The closed strip that a page belongs to; NULL when there is none. No lock needed.
const struct ll_strip* ll_strips_closed_at(uintptr_t page);

// Whether a quarter of a strip or more is free.
bool ll_strip_is_sparse(const struct ll_strip* strip);

// In a forked child: nothing is opened or given back any more.
void ll_strips_fork_child(void);
