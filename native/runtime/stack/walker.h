// What a thread remembers of its last walk, so that the next one needs to look only at
// frames that are new. A *level* is one frame of the stack as it was walked, outermost
// first. A *proof* is a word that the walk read from the stack: while the proofs of a
// level and of all levels outside of it hold, walking again would give the same levels.
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stack/bounds.h"
#include "stack/rules.h"

struct ll_level {
    uint64_t sp; // falls from level to level
    uint64_t pc;
    uint64_t rbp;             // meaningful with `needs_rbp`
    uint32_t node;            // 0: not looked up yet
    uint32_t needs_rbp : 1;   // finding the outer frames depends on this frame's rbp
    uint32_t proofs_end : 31; // proofs of this level and all outside of it
};

struct ll_proof {
    uintptr_t address;
    uint64_t value;
};

// Proofs are checked so many at a time. Before the first one lie others that always
// hold, so that a step may begin outside of it.
enum { LL_PROOF_STEP = 8 };

// A frame that the current walk met and that is not (yet) a level.
struct ll_frame {
    uint64_t sp;
    uint64_t pc;
    uint64_t rbp;
    ll_rule rule;
    uint32_t flags; // LL_NODE_*
};

// A capture that joined the levels and went its own way inside of them. It stands for
// a walk while level `join` is what it was and the proofs hold. Programs often come
// back to a few places by turns; each then costs no more than coming back to the last
// one. It always has as many proofs: some may be of levels outside of `join`, which
// have to hold as well.
// A thread that walks little touches no memory for them.
enum {
    LL_MEMO_SET_BITS = 7,
    LL_MEMO_WAYS = 2,
    LL_MEMO_PROOFS = 6,
    LL_WALKS_BEFORE_MEMOS = 64,
};
struct ll_memo {
    uint64_t sp; // of the innermost frame, as for a level
    uint64_t pc;
    uint64_t rbp;
    uint64_t join_sp;
    uint64_t join_rbp;
    uint32_t join;
    uint32_t join_node; // the same node means the same code in all outer frames
    uint32_t node;
    bool needs_rbp;
    struct ll_proof proofs[LL_MEMO_PROOFS];
};

// A stack by the context that was handed over with it (stack/handed.h). It is the one
// to take while the innermost frame is the same and its return address is what it was;
// or, with `sp` 0, for any frame that returns there.
enum { LL_HANDED_BITS = 10 };
struct ll_handed {
    uint64_t context; // 0: none
    uint64_t sp;      // of the innermost frame, as for a level
    uint64_t pc;
    uint64_t rbp;      // as far as `rbp_mask` goes
    uint64_t rbp_mask; // all bits when the slot was found by rbp, else none
    // Where the frame keeps its return address. May always be read: a signal handler
    // may put another stack here after the first look at this one.
    uintptr_t outer_slot;
    uint64_t outer_pc;
    uint32_t node;
    uint32_t clearing; // of the walker, when it was remembered
};

// Why there is no frame outside of the outermost one: nothing, or LL_NODE_stopped with
// its reason.
struct ll_outermost {
    uint16_t flags;
    uint16_t reason;
};

enum { LL_LEVELS_MAX = 8192 };

// The outer levels are also known by a hash of their stack pointers.
enum { LL_PLACE_BITS = 8, LL_PLACED_LEVELS = 1 << (LL_PLACE_BITS - 1) };
_Static_assert(LL_PLACED_LEVELS <= UINT8_MAX + 1, "a place holds any placed level");

struct ll_walker {
    uint32_t capacity; // of `levels` and of `frames`
    uint32_t count;    // levels known
    uint32_t at;       // level of the last capture; 0 if there are none
    uint32_t epoch;    // of the loaded code, when the levels were made
    uint32_t dropped;  // levels forgotten behind the outer ones, to make room
    uint32_t frame_count;
    uint32_t proof_count;
    uint32_t joined_walks; // up to LL_WALKS_BEFORE_MEMOS
    bool folded_recursion; // the last look-up of a node did
    bool met_special;      // the current walk met a frame that is not plain
    struct ll_outermost outermost;
    struct ll_stack_bounds bounds; // of the stack on which the levels lie
    struct ll_other_stacks other_stacks;
    struct ll_level* levels;
    struct ll_proof* proofs;
    struct ll_frame* frames;            // innermost first
    size_t size_bytes;                  // of the mapping that begins at `levels`
    uint8_t places[1 << LL_PLACE_BITS]; // indexes of levels, or of what were ones
    uint8_t memo_victims[1 << LL_MEMO_SET_BITS]; // way of each set to replace next
    struct ll_memo (*memos)[LL_MEMO_WAYS];       // by set
    struct ll_handed* handed;                    // by context and place
    uint32_t clearings;  // that it went through; what is older counts no more
    uint32_t remembered; // how often something was put into `handed`
};

// Forgets the levels; memos stay, since they count only with their level.
void ll_walker_reset(struct ll_walker* walker);

// Forgets all, for a new thread or since code was unloaded.
void ll_walker_clear(struct ll_walker* walker);

LL_INLINE uint32_t ll_walker_proofs_max(const struct ll_walker* walker) {
    return 2 * walker->capacity;
}

// The calling thread's walker. Taking leaves NULL, so that a signal handler that
// interrupts a walk works with another one.
extern LL_THREAD_LOCAL struct ll_walker* ll_own_walker;

// A walker for a thread that has none at hand; NULL when memory ran out.
struct ll_walker* ll_walker_borrow(void);

// For the thread's next walk, or for other threads if it has one already.
void ll_walker_give_back(struct ll_walker* walker);

// The same without a call. Taking gives NULL if there is none at hand.
LL_INLINE struct ll_walker* ll_walker_take_own(void) {
    struct ll_walker* walker = ll_own_walker;
    if (LL_LIKELY(walker != NULL)) {
        ll_own_walker = NULL;
        atomic_signal_fence(memory_order_seq_cst);
    }
    return walker;
}

LL_INLINE void ll_walker_put_back(struct ll_walker* walker) {
    atomic_signal_fence(memory_order_seq_cst);
    if (LL_UNLIKELY(ll_own_walker != NULL)) {
        // A signal handler left one behind meanwhile.
        ll_walker_give_back(walker);
    } else {
        ll_own_walker = walker;
    }
}

// Doubles the room. False at LL_LEVELS_MAX or when memory ran out.
bool ll_walker_grow(struct ll_walker* walker);

void ll_walker_thread_exit(void);
