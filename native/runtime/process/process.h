// The life of the watched process: what the runtime knows about it and the one way to
// look at its heap. Entry functions call these; none of them changes errno.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "os/world.h"

// Starts the runtime once, whoever comes first: the loader's constructor, or malloc
// called before it. Reads the options, takes the heap, writes `process_start`. Returns
// at once when it is called from within itself.
void ll_process_start(void);

// True when this process is to be looked at: an option names a recording, and it is
// not a copy that the runtime does not know of, such as a child of vfork, which shares
// its parent's memory.
bool ll_process_is_watched(void);

// Why and from where the heap is looked at.
struct ll_occasion {
    uint32_t trigger;             // LL_TRIGGER_*
    uint32_t status;              // exit status or number of the fatal signal, else 0
    uint32_t request;             // number of the request from outside, else 0
    struct ll_registers self;     // the calling thread on entry to the runtime
    const void* vector_registers; // of that thread if a signal interrupted it, or NULL
    size_t vector_size_bytes;
};

// An occasion seen from the caller's frame.
#define LL_OCCASION_HERE(reason, value)                                                \
    ({                                                                                 \
        struct ll_occasion here_ = {.trigger = (reason), .status = (value)};           \
        ll_registers_here(&here_.self);                                                \
        here_;                                                                         \
    })

// Fills `registers` with the caller's: the callee-saved ones, rsp and pc are exact.
void ll_registers_here(struct ll_registers* registers);

// An occasion as a signal handler meets it.
struct ll_occasion ll_occasion_interrupted(uint32_t trigger, uint32_t status,
                                           const void* signal_context);

// Stops the world, looks through the lenses, writes the snapshot, lets the world go on.
// Returns the number of lost blocks. Waits for a look that is under way. The last look
// of a process (exit, quick_exit, signal) happens once: what comes later is ignored.
// After a fatal signal the world stays stopped, since the process is about to die.
uint64_t ll_process_look(const struct ll_occasion* occasion);

// Looks for the last time although the process goes on, says why in the recording, and
// watches it no more: from then on the runtime makes no system call for its own sake.
void ll_process_leave(const struct ll_occasion* occasion, const char* sentence);

// Answers a request for a snapshot: the look happens in a copy of the process, which
// goes on meanwhile. Gives up when a look is under way.
void ll_process_snapshot(const struct ll_occasion* occasion);

// Stops the world to save memory, as lens `pages` asked. Gives up when a look is under
// way.
void ll_process_merge_pages(void);

// What of the calling thread counts when it asks whether a block is referred to.
struct ll_live_state {
    struct ll_registers registers;
    const void* signal_context; // of its vector registers, NULL if they are dead
    bool red_zone;              // it may use memory below its stack pointer
};

// Whether anything refers to the block at an address. Stops the world meanwhile.
bool ll_process_reaches(uintptr_t block, const struct ll_live_state* self);

// What the stop signal does when it is neither the world's nor a request: the program
// uses the same number. NULL: nothing.
void ll_process_on_foreign_signal(ll_signal_handler* handler);

// Around fork, in the forking thread.
void ll_process_fork_prepare(void);
void ll_process_fork_parent(void);
void ll_process_fork_child(void);

// Notes for the recording, kept until it is written next.
void ll_process_note_fork(int child);
void ll_process_note_spawn(int child, const char* path);
void ll_process_note_suppressions(const char* text);
void ll_process_note_not_seen(uint32_t reason, uint32_t detail, const char* sentence);

// Writes the exec down after the look for it; and that it failed. In a child of vfork:
// leaves a note for the parent.
void ll_process_note_exec(const char* path);
void ll_process_note_exec_failed(int error);

// The process is about to lose the right to open the recording.
void ll_process_keep_recording_open(void);
