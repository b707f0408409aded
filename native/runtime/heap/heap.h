// The heap under every lens. A *span* is a run of 64 KiB units that holds blocks of one
// size; a *block* is one allocation. Blocks lie in one range that starts at a 1 TiB
// boundary, so bits 40..55 tell a heap pointer from any other word. Everything known
// about a block is kept apart from it: freeing, reporting and scanning never touch the
// block's own page.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A call stack's node in the trie (stack/trie.h); 0 is unknown.
typedef uint32_t ll_site;

// Takes the address range. Idempotent, safe before any constructor ran. False when no
// range is to be had; the heap then serves nothing.
bool ll_heap_start(void);

// To be called before the heap starts: beside the word that describes a block there is
// to be a second one, its *twin*, at a fixed distance. Whoever asks for twins fills
// them.
void ll_heap_keep_twins(void);

// From words to their twins; 0 when there are none.
uintptr_t ll_heap_twin_distance(void);

// To be called before the heap starts: all blocks are to begin at multiples of so many
// bytes, 16 or 32; it is 16 otherwise.
void ll_heap_align_blocks(uint32_t multiple_bytes);

// The functions below serve any thread and any signal handler, set no errno, and leave
// a block's contents alone unless they say otherwise.

// A block of at least `size_bytes`, aligned to 16 bytes; NULL when memory ran out. The
// block always has a byte more than asked for, so that a pointer just past its end is
// still inside and never mistaken for its neighbour.
void* ll_heap_allocate(size_t size_bytes, ll_site site);

// The same, filled with zeros (fresh pages are not cleared twice).
void* ll_heap_allocate_zeroed(size_t size_bytes, ll_site site);

// `alignment` is a power of two.
void* ll_heap_allocate_aligned(size_t size_bytes, size_t alignment, ll_site site);

// Frees the block that starts at `block`. False, and nothing done, when none does.
bool ll_heap_release(void* block);

struct ll_resized {
    void* block;
    uint64_t* word; // of the block; NULL where it would have to be looked up
};

// Changes the size of a block: in place where that wastes less than half of it, else in
// a new block with the contents of the old one, as far as they fit; the old one is then
// freed. The result counts as allocated now and here. NULL when memory ran out or no
// block starts there; nothing is changed then.
struct ll_resized ll_heap_reallocate(void* block, size_t size_bytes, ll_site site);

// Bytes the program may use; it then counts as the requested size, since the program
// was told so. 0 for a pointer that is not the start of a block.
size_t ll_heap_usable_size(void* block);

// True when a live block starts there.
bool ll_heap_is_block(const void* block);

// Requested size of a live block; 0 if `block` is not the start of one.
size_t ll_heap_requested_size(const void* block);

// Site of a live block; 0 if `block` is not the start of one.
ll_site ll_heap_site(const void* block);

// Leaves the block out of every report (and keeps what it leads to).
bool ll_heap_ignore(const void* block);

// From now on, blocks that the calling thread allocates are ignored (or no longer).
void ll_heap_ignore_new(bool on);

// Small enough to be returned in registers.
struct ll_taken {
    void* block;   // NULL when memory ran out
    bool is_fresh; // it reads as zeros
};

// How blocks of the classes are kept apart, once a lens asks for it: it has a place for
// each block, which may be one in the common heap. Serves any thread and any signal
// handler.
typedef struct ll_taken ll_class_allocator(unsigned class, size_t size_bytes,
                                           ll_site site);
void ll_heap_segregate(ll_class_allocator* allocate);
ll_class_allocator ll_heap_allocate_in_common;

// Thread life: ll_heap_thread_exit hands the thread's spans to those who need them;
// the thread may still allocate and free after it.
void ll_heap_thread_exit(void);

// Around fork, in the forking thread. In the child, blocks born before are *inherited*.
void ll_heap_fork_prepare(void);
void ll_heap_fork_parent(void);
void ll_heap_fork_child(void);

// True when this process has allocated anything since it started or was forked.
bool ll_heap_allocated_since_fork(void);

// Gives unused pages back to the system; true when there were any.
bool ll_heap_trim(void);

struct ll_heap_totals {
    uint64_t live_blocks;
    uint64_t live_bytes;   // requested
    uint64_t allocations;  // since the process began, by fork as well
    uint64_t frees;        // those before a fork included
    uint64_t peak_bytes;   // most bytes of spans in use at one time
    uint64_t mapped_bytes; // committed address space
};

// Counts live blocks by a walk. For a stopped world; takes no lock.
struct ll_heap_totals ll_heap_totals(void);

// The same while other threads go on: near the truth.
struct ll_heap_totals ll_heap_totals_now(void);
