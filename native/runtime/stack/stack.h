// Call stacks of the program, taken at full depth on every allocation although its code
// has no frame pointers. A stack becomes one number: the *node* of its innermost frame
// in a trie that all threads share.
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "os/world.h"

// Where a walk starts: the caller of one of our entry functions.
struct ll_caller {
    uintptr_t pc;  // return address into the caller
    uintptr_t sp;  // its stack pointer after the return (our frame's CFA)
    uintptr_t rbp; // its rbp
};

// For use in an entry function compiled with a frame pointer.
#define LL_CALLER()                                                                    \
    ((struct ll_caller){                                                               \
        .pc = (uintptr_t)__builtin_return_address(0),                                  \
        .sp = (uintptr_t)__builtin_frame_address(0) + 16,                              \
        .rbp = *(const uintptr_t*)__builtin_frame_address(0),                          \
    })

// Makes the tables; idempotent, safe before any constructor ran. `depth` is the number
// of frames kept. False when there is no memory: every stack is then node 0.
bool ll_stack_start(unsigned depth);

// The node of the current thread's stack. About 10 ns for a shallow stack; takes no
// lock and allocates nothing from the heap. Safe in signal handlers: a handler that
// interrupts a walk walks without the thread's cache.
uint32_t ll_stack_capture_from(uintptr_t pc, uintptr_t sp, uintptr_t rbp);

// The same where some code hands contexts over (stack/handed.h): takes what the caller
// may have handed, and with it, as a rule, the node of an earlier walk.
uint32_t ll_stack_capture_handed(uintptr_t pc, uintptr_t sp, uintptr_t rbp);
uint32_t ll_stack_capture_handed_any_depth(uintptr_t pc, uintptr_t sp, uintptr_t rbp);

// Where callers leave what they hand over, counted from the thread pointer; 0: nobody
// does.
extern _Atomic intptr_t ll_handed_offset;

LL_INLINE bool ll_somebody_hands_over(void) {
    return atomic_load_explicit(&ll_handed_offset, memory_order_relaxed) != 0;
}

// In registers: a struct of this size would go through memory, by loads that are wider
// than the stores just before them.
LL_INLINE uint32_t ll_stack_capture(struct ll_caller caller) {
    return LL_UNLIKELY(ll_somebody_hands_over())
               ? ll_stack_capture_handed(caller.pc, caller.sp, caller.rbp)
               : ll_stack_capture_from(caller.pc, caller.sp, caller.rbp);
}

// The same; of a caller that handed a context over and is in a recursion, it may be
// that of another depth.
LL_INLINE uint32_t ll_stack_capture_any_depth(struct ll_caller caller) {
    return LL_UNLIKELY(ll_somebody_hands_over())
               ? ll_stack_capture_handed_any_depth(caller.pc, caller.sp, caller.rbp)
               : ll_stack_capture_from(caller.pc, caller.sp, caller.rbp);
}

// Where a frame keeps its return address, in words above a register.
struct ll_return_slot {
    int16_t words;
    bool by_rbp; // else above the stack pointer
};

// The node of the stack at `pc`, one byte into an instruction that is about to run, and
// the slot of its frame, which may be read. 0 when the caller is not known.
uint32_t ll_stack_capture_at(uintptr_t pc, uintptr_t sp, uintptr_t rbp,
                             struct ll_return_slot* slot);

// The node if the thread's last walks tell it, else 0: calls nothing outside of this
// component.
uint32_t ll_stack_recall(struct ll_caller caller);

// Thread and process life. ll_stack_thread_start tells a new thread where its stack
// lies; without it captures have to find out.
void ll_stack_thread_start(uintptr_t start, uintptr_t end);
void ll_stack_thread_exit(void);
void ll_stack_fork_child(void);

// A module is about to be unmapped or was mapped anew: its nodes keep its name, and
// rules cached for its addresses are forgotten.
void ll_stack_modules_changed(void);

// One step outwards with all callee-saved registers, for looks at stopped threads.
// `cfa` is 0 where `pc` is the very instruction that comes next (before the first
// step); it receives the CFA of the frame that was left, which is the new rsp, or 0
// again when that was a signal handler's and the caller was interrupted. False at the
// outermost frame or when the rule is unknown. Registers that are lost on the way
// become 0. Slow (reads the unwind tables each time); takes no lock; one thread at a
// time.
bool ll_unwind_step(struct ll_registers* registers, uintptr_t* cfa);

// The node of a frame called from `parent`'s (0: the outermost one), made if there is
// none. For frames that were found by ll_unwind_step.
uint32_t ll_stack_child(uint32_t parent, uintptr_t pc, uint16_t flags);

// One node of the trie, for writing it down. `pc` is 0 in nodes that stand for frames
// left out: LL_NODE_folded, and LL_NODE_stopped for LL_STOP_depth. With any other
// reason LL_NODE_stopped is a flag of the outermost frame that was found.
struct ll_node {
    uint32_t parent; // 0: none
    uint64_t pc;
    uint32_t module; // id for ll_module_get, 0 if none
    uint16_t flags;  // LL_NODE_*
    uint16_t reason; // LL_STOP_*
};

// False for ids that are not used: 0, beyond the count, and a few others.
bool ll_node_get(uint32_t node, struct ll_node* result);

// The same for its code address and its parent alone, which is quicker.
bool ll_node_step(uint32_t node, uintptr_t* pc, uint32_t* parent);
uint32_t ll_node_count(void); // ids are 1 .. count

// Nodes may be given up when nobody holds them any more, and the others then get new
// ids. `visit_held` is called with a function and must replace every node that is held
// anywhere outside of this component by what the function returns for it. Hooks may
// hold a node between its capture and the end of the hook, but not over another
// capture. Returns at how many words it looked, of which the time depends that passes
// until the next time.
typedef uint32_t ll_node_renaming(uint32_t node);
typedef uint64_t ll_node_holder(ll_node_renaming* rename);
void ll_stack_let_sweep(ll_node_holder* visit_held);

// From now on ids stay what they are: they are written down.
void ll_stack_keep_nodes(void);

struct ll_module {
    uint64_t base; // load bias
    uint64_t start;
    uint64_t end;
    bool unloaded;
    const uint8_t* build_id;
    uint32_t build_id_length;
    const char* path;
};
bool ll_module_get(uint32_t id, struct ll_module* result);
uint32_t ll_module_count(void);

// The module that contains `address` now, 0 if none.
uint32_t ll_module_at(uintptr_t address);
