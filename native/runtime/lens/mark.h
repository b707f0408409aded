// Floods the heap with marks: from words that may be pointers to the blocks they point
// into, and on through the blocks' contents. A *flood* says which marks it changes, so
// the same search serves reachability and the sorting of what was not reached.
// Pointers are aligned words; one to the inside of a block or just past its end counts.
#pragma once
#include "heap/inspect.h"

struct ll_flood {
    // The mark that a block met with mark i gets; i itself leaves the block alone.
    uint8_t next[4];
    // Borne by blocks whose contents still have to be searched because the stack was
    // full, and what they bear afterwards. No block may bear `pending` when the flood
    // starts. Equal when no mark is to spare: the flood then fails on a full stack.
    uint8_t pending;
    uint8_t settled;
    // Called once for each block whose mark changes; may be NULL.
    void (*met)(struct ll_block block, void* context);
    void* context;
};

struct ll_marker;

// Takes the memory for floods whose stack holds `limit_bytes`; NULL without memory. A
// flood that needs more goes on by visits to the heap.
struct ll_marker* ll_marker_start(size_t limit_bytes);
void ll_marker_end(struct ll_marker* marker);

// What the following calls do. `flood` is copied.
void ll_marker_use(struct ll_marker* marker, const struct ll_flood* flood);

// Floods from one word, from the words in a range of memory that can be read, or from
// the contents of a block. Nothing is complete before ll_mark_finish.
void ll_mark_word(struct ll_marker* marker, uintptr_t word);
void ll_mark_range(struct ll_marker* marker, const void* start, const void* end);
void ll_mark_contents(struct ll_marker* marker, struct ll_block block);

// Calls `visit` for each word of a block's contents that is not surely 0.
typedef void ll_word_visitor(uintptr_t word, void* context);
void ll_marker_visit_words(struct ll_marker* marker, struct ll_block block,
                           ll_word_visitor* visit, void* context);

// Completes the flood. False when it failed on a full stack: some blocks that it would
// have met bear their old marks.
bool ll_mark_finish(struct ll_marker* marker);
