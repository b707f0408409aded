#include "lens/pages_touch_stacks.h"

#include <linux/futex.h>
#include <stdbool.h>
#include <sys/uio.h>
#include <time.h>

#include "heap/span.h"
#include "lens/pages_touches.h"
#include "os/companion.h"
#include "os/syscall.h"
#include "os/tasks.h"
#include "os/world.h"
#include "stack/rules.h"
#include "stack/stack.h"

enum {
    CALL_DEPTH = 16,   // frames looked for outside of a system call
    PATIENCE_MS = 50,  // a thread that is stopped answers late
    ANSWER_SHIFT = 32, // number of the question, above the node
    NS_PER_MS = 1000000,
};

static uint32_t question; // the number of the last one; a later answer is none
static uint64_t answer;   // question and node
static uint32_t answered; // question; what the assistant waits for

void ll_touch_stack_answer(uint32_t asked, const void* signal_context) {
    struct ll_registers registers;
    if (asked != __atomic_load_n(&question, __ATOMIC_ACQUIRE)) {
        return;
    }
    ll_registers_interrupted(signal_context, &registers);
    uint32_t node = ll_stack_capture_from(registers.pc + 1, registers.general[LL_RSP],
                                          registers.general[LL_RBP]);
    __atomic_store_n(&answer, (uint64_t)asked << ANSWER_SHIFT | node, __ATOMIC_RELEASE);
    __atomic_store_n(&answered, asked, __ATOMIC_RELEASE);
    (void)ll_syscall(SYS_futex, &answered, FUTEX_WAKE_PRIVATE, 1);
}

static bool blocks_signal(int tid) {
    uint64_t blocked = ll_task_blocked(ll_companion_owner(), tid);
    return (blocked >> (ll_world_signal() - 1) & 1) != 0;
}

static void await_answer(uint32_t asked) {
    struct timespec step = {.tv_nsec = NS_PER_MS};
    for (int i = 0; i < PATIENCE_MS; i++) {
        uint32_t seen = __atomic_load_n(&answered, __ATOMIC_ACQUIRE);
        if (seen == asked) {
            return;
        }
        (void)ll_syscall(SYS_futex, &answered, FUTEX_WAIT_PRIVATE, seen, &step);
    }
}

// The signal interrupts the wait for the page, not a system call; the instruction
// begins anew when the handler has returned.
static uint32_t ask(int tid) {
    if (ll_world_signal() == 0 || blocks_signal(tid)) {
        return 0;
    }
    uint32_t asked = question + 1;
    __atomic_store_n(&question, asked, __ATOMIC_RELEASE);
    if (!ll_world_ask_thread(ll_companion_owner(), tid,
                             LL_PAGES_TOUCH_MAGIC << 32 | asked)) {
        return 0;
    }
    await_answer(asked);
    uint64_t given = __atomic_load_n(&answer, __ATOMIC_ACQUIRE);
    return given >> ANSWER_SHIFT == asked ? (uint32_t)given : 0;
}

// Reads a word of a stack without waiting for a page of it: nobody would bring it.
static bool read_word(uintptr_t address, uint64_t* word) {
    struct iovec to = {.iov_base = word, .iov_len = sizeof *word};
    struct iovec from = {.iov_base = (void*)address, .iov_len = sizeof *word};
    long self = ll_syscall(SYS_getpid);
    long got = ll_syscall(SYS_process_vm_readv, self, &to, 1, &from, 1, 0);
    return got == (long)sizeof *word;
}

struct frame {
    uint64_t pc;
    uint64_t sp;
    uint64_t rbp;
    bool knows_rbp;
};

static bool step_out(struct frame* frame) {
    ll_rule rule = ll_rule_at(frame->pc);
    enum ll_rule_kind kind = ll_rule_kind(rule);
    if (kind != LL_RULE_RSP && !(kind == LL_RULE_RBP && frame->knows_rbp)) {
        return false;
    }
    uint64_t cfa =
        (kind == LL_RULE_RSP ? frame->sp : frame->rbp) + ll_rule_cfa_bytes(rule);
    uint64_t saved = ll_rule_rbp_bytes(rule);
    if (saved != 0) {
        frame->knows_rbp = read_word(cfa - saved, &frame->rbp);
    }
    frame->sp = cfa;
    return read_word(cfa - sizeof(uint64_t), &frame->pc) && frame->pc != 0;
}

static uint32_t walk_from_call(const struct ll_sleep* sleep) {
    uint64_t pcs[CALL_DEPTH];
    struct frame frame = {.pc = sleep->pc, .sp = sleep->stack_pointer};
    int count = 0;
    do {
        pcs[count++] = frame.pc;
    } while (count < CALL_DEPTH && step_out(&frame));
    uint32_t node = 0;
    while (count > 0) {
        node = ll_stack_child(node, pcs[--count], 0);
    }
    return node;
}

// A stack in the heap may lie on a page that is out itself.
static bool lies_in_heap(uintptr_t address) {
    return address - ll_range.start < ll_range.used_bytes;
}

uint32_t ll_touch_stack_of(int tid) {
    struct ll_sleep sleep;
    if (!ll_task_sleep(ll_companion_owner(), tid, &sleep) ||
        lies_in_heap(sleep.stack_pointer)) {
        return 0;
    }
    return sleep.is_in_call ? walk_from_call(&sleep) : ask(tid);
}
