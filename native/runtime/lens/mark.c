#include "lens/mark.h"

#include "base/attributes.h"
#include "os/memory.h"
#include "os/residence.h"

// A mark is a chain of cache misses: the header of a block's span, the word that
// describes the block, its contents. Each step waits in a short queue while what it
// needs is fetched: words that point into a span, blocks met, ranges from the stack.
enum { SEEN_LENGTH = 16, MET_LENGTH = 16, NEXT_LENGTH = 16 };

// Longer ranges are searched in pieces of so many words, with the rest kept on the
// stack: a huge table of pointers then needs no more stack than a small one.
enum { PIECE_WORDS = 128 };

// Of blocks longer than this only pages with memory behind them are searched: a huge
// sparse table costs what it holds, and no pages appear because of us.
enum { SPARSE_WORDS = (1 << 20) / sizeof(uintptr_t) };

struct range {
    const uintptr_t* at;
    const uintptr_t* end;
};

// A word that points into a span.
struct sighting {
    struct ll_span* span;
    uintptr_t word;
};

// A block that a word points into, if it is alive and long enough.
struct meeting {
    struct ll_block block;
    uintptr_t word;
};

struct ll_marker {
    struct ll_flood flood;
    // Rings: the oldest is at `first`.
    struct sighting seen[SEEN_LENGTH];
    struct meeting met[MET_LENGTH];
    struct range next[NEXT_LENGTH];
    unsigned seen_first, seen_count;
    unsigned met_first, met_count;
    unsigned next_first, next_count;
    struct ll_residence residence;
    bool residence_open; // once a long block was met
    bool any_pending;    // a block got the pending mark
    bool failed;         // a block was left out
    size_t depth;
    size_t capacity;
    size_t mapped_bytes;
    struct range stack[];
};

struct ll_marker* ll_marker_start(size_t limit_bytes) {
    size_t mapped_bytes = (sizeof(struct ll_marker) + limit_bytes + LL_PAGE_SIZE - 1) &
                          ~(size_t)(LL_PAGE_SIZE - 1);
    struct ll_marker* marker = ll_memory_map(mapped_bytes);
    if (marker != NULL) {
        marker->mapped_bytes = mapped_bytes;
        marker->capacity = limit_bytes / sizeof(struct range);
    }
    return marker;
}

void ll_marker_end(struct ll_marker* marker) {
    if (marker->residence_open) {
        ll_residence_close(&marker->residence);
    }
    ll_memory_unmap(marker, marker->mapped_bytes);
}

void ll_marker_use(struct ll_marker* marker, const struct ll_flood* flood) {
    marker->flood = *flood;
}

LL_INLINE struct range contents(struct ll_block block) {
    const uintptr_t* start = (const uintptr_t*)ll_block_start(block);
    return (struct range){start, start + ll_block_size(block) / sizeof *start};
}

// False when the stack is full: the block has to wait for a visit to the heap.
LL_INLINE bool push(struct ll_marker* marker, struct range range) {
    if (LL_LIKELY(marker->depth < marker->capacity)) {
        marker->stack[marker->depth++] = range;
        return true;
    }
    if (marker->flood.pending == marker->flood.settled) {
        marker->failed = true;
    } else {
        marker->any_pending = true;
    }
    return false;
}

// Changes the mark of a block and sees to it that its contents are searched.
LL_INLINE void settle(struct ll_marker* marker, struct ll_block block, uintptr_t word) {
    if (!ll_block_is_live(block) ||
        word - ll_block_start(block) > ll_block_size(block)) {
        return;
    }
    unsigned mark = ll_block_mark(block);
    unsigned next = marker->flood.next[mark];
    if (next == mark) {
        return;
    }
    struct range range = contents(block);
    if (range.at < range.end && !push(marker, range)) {
        next = marker->flood.pending;
    }
    ll_block_set_mark(block, next);
    if (marker->flood.met != NULL) {
        marker->flood.met(block, marker->flood.context);
    }
}

static void settle_oldest(struct ll_marker* marker) {
    struct meeting meeting = marker->met[marker->met_first];
    marker->met_first = (marker->met_first + 1) % MET_LENGTH;
    marker->met_count--;
    settle(marker, meeting.block, meeting.word);
}

LL_INLINE void meet_oldest(struct ll_marker* marker) {
    struct sighting sighting = marker->seen[marker->seen_first];
    marker->seen_first = (marker->seen_first + 1) % SEEN_LENGTH;
    marker->seen_count--;
    struct ll_block block;
    if (!ll_block_locate_in(sighting.span, sighting.word, &block)) {
        return;
    }
    ll_block_prefetch(block);
    if (marker->met_count == MET_LENGTH) {
        settle_oldest(marker);
    }
    marker->met[(marker->met_first + marker->met_count++) % MET_LENGTH] =
        (struct meeting){block, sighting.word};
}

LL_INLINE void see(struct ll_marker* marker, uintptr_t word) {
    if (!ll_is_heap_address(word)) {
        return;
    }
    struct ll_span* span = ll_span_at(word - ll_range.start);
    __builtin_prefetch(span);
    if (marker->seen_count == SEEN_LENGTH) {
        meet_oldest(marker);
    }
    marker->seen[(marker->seen_first + marker->seen_count++) % SEEN_LENGTH] =
        (struct sighting){span, word};
}

LL_INLINE void search(struct ll_marker* marker, struct range range) {
    for (; range.at < range.end; range.at++) {
        see(marker, *range.at);
    }
}

static LL_COLD void skip_absent_pages(struct ll_marker* marker, struct range* range) {
    if (!marker->residence_open) {
        ll_residence_open(&marker->residence);
        marker->residence_open = true;
    }
    uintptr_t end = (uintptr_t)range->end & -(uintptr_t)LL_PAGE_SIZE;
    range->at = (const uintptr_t*)ll_residence_first(&marker->residence,
                                                     marker->residence.private_source,
                                                     (uintptr_t)range->at, end);
}

// Takes a piece off the front of a range; the range is empty when it was the last one.
LL_INLINE struct range take_piece(struct ll_marker* marker, struct range* range) {
    bool starts_page = (uintptr_t)range->at % LL_PAGE_SIZE == 0;
    if (range->end - range->at > SPARSE_WORDS && starts_page &&
        ll_is_heap_address((uintptr_t)range->at)) {
        skip_absent_pages(marker, range);
    }
    struct range piece = *range;
    if (piece.end - piece.at > PIECE_WORDS) {
        piece.end = piece.at + PIECE_WORDS;
    }
    range->at = piece.end;
    return piece;
}

// Moves ranges from the stack to the queue. A long one leaves its rest on the stack,
// in the place it had.
static void fetch_ranges(struct ll_marker* marker) {
    while (marker->next_count < NEXT_LENGTH && marker->depth > 0) {
        struct range* top = &marker->stack[marker->depth - 1];
        struct range range = take_piece(marker, top);
        if (top->at == top->end) {
            marker->depth--;
        }
        __builtin_prefetch(range.at);
        __builtin_prefetch(range.end - 1);
        marker->next[(marker->next_first + marker->next_count++) % NEXT_LENGTH] = range;
    }
}

static void drain(struct ll_marker* marker) {
    for (;;) {
        fetch_ranges(marker);
        if (marker->next_count > 0) {
            struct range range = marker->next[marker->next_first];
            marker->next_first = (marker->next_first + 1) % NEXT_LENGTH;
            marker->next_count--;
            search(marker, range);
        } else if (marker->seen_count > 0) {
            meet_oldest(marker);
        } else if (marker->met_count > 0) {
            settle_oldest(marker);
        } else {
            return;
        }
    }
}

// Searches a range of any length with no more stack than a piece of it needs.
static void search_in_pieces(struct ll_marker* marker, struct range range) {
    while (range.at < range.end) {
        search(marker, take_piece(marker, &range));
        drain(marker);
    }
}

void ll_mark_word(struct ll_marker* marker, uintptr_t word) {
    see(marker, word);
    drain(marker);
}

void ll_mark_range(struct ll_marker* marker, const void* start, const void* end) {
    uintptr_t first = ((uintptr_t)start + sizeof(uintptr_t) - 1) & -sizeof(uintptr_t);
    uintptr_t last = (uintptr_t)end & -sizeof(uintptr_t);
    search_in_pieces(marker,
                     (struct range){(const uintptr_t*)first, (const uintptr_t*)last});
}

void ll_mark_contents(struct ll_marker* marker, struct ll_block block) {
    search_in_pieces(marker, contents(block));
}

void ll_marker_visit_words(struct ll_marker* marker, struct ll_block block,
                           ll_word_visitor* visit, void* context) {
    struct range range = contents(block);
    while (range.at < range.end) {
        struct range piece = take_piece(marker, &range);
        for (; piece.at < piece.end; piece.at++) {
            visit(*piece.at, context);
        }
    }
}

static bool search_if_pending(struct ll_block block, void* context) {
    struct ll_marker* marker = context;
    if (ll_block_mark(block) == marker->flood.pending) {
        ll_block_set_mark(block, marker->flood.settled);
        ll_mark_contents(marker, block);
    }
    return true;
}

bool ll_mark_finish(struct ll_marker* marker) {
    drain(marker);
    // Each visit settles at least a stackful of blocks, or all that wait.
    while (marker->any_pending) {
        marker->any_pending = false;
        ll_heap_visit(search_if_pending, marker);
    }
    bool complete = !marker->failed;
    marker->failed = false;
    return complete;
}
