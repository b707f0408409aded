// The hooks in assembly save what they use: the code around a store does not expect a
// call. They find the slot's address in rax, the caller's return address in rcx (both
// saved by the trampoline), and the place as their own return address.
#include "patch/hooks.h"

#include <stddef.h>
#include <sys/mman.h>

#include "base/attributes.h"
#include "os/memory.h"
#include "os/syscall.h"
#include "patch/births.h"
#include "patch/hook_table.h"
#include "patch/lanes.h"
#include "patch/loss_page.h"
#include "patch/string_hooks.h"
#include "patch/word_hooks.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

// Slots this close above the stack pointer belong to the current stack, unless it is
// known to end between the two. A fresh frame holds old words, and overwriting them
// loses nothing.
#define STACK_REACH 0x800000

static LL_THREAD_LOCAL uintptr_t own_stack_end;

_Static_assert(sizeof(struct ll_granule_stamp) == LL_STAMP_BYTES, "one per granule");
_Static_assert(offsetof(struct ll_hook_table, stack_end) == LL_ENTRY_STACK_END &&
                   offsetof(struct ll_hook_table, heap_bytes) == LL_ENTRY_HEAP_BYTES,
               "assembly reads it");

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

// clang-format off: assembly reads best one line below the other
// What a process with one thread does for a pointer into the heap, of which rax bytes
// are in use: the next one so far in needs no hook.
#define TICK_ALONE                                                                     \
    "movq %rax, " TEXT(LL_STAMP_LIMIT) "\n"                                            \
    "incq " TEXT(LL_LOSS_CLOCK) "\n"                                                   \
    "movq " TEXT(LL_LOSS_CLOCK) ", %rax\n"

#define TICK_AMONG_THREADS                                                             \
    "movl $1, %eax\n"                                                                  \
    "lock xaddq %rax, " TEXT(LL_LOSS_CLOCK) "\n"                                       \
    "incq %rax\n"

// Looks at the word at (%rax) and stamps the granule of the heap that it points to. Uses up rax and rdx.
// `place_at` is where the hook's return address lies above the stack pointer.
#define STAMP_WORD(tick, place_at)                                                     \
    "movq (%rax), %rdx\n"                                                              \
    "subq %rsp, %rax\n"                                                                \
    "cmpq $" TEXT(STACK_REACH) ", %rax\n"                                              \
    "jb 4f\n"                                                                          \
    "3:\n"                                                                             \
    "addq " TEXT(LL_MINUS_HEAP_START) ", %rdx\n"                                       \
    "movq " TEXT(LL_HOOK_TABLE) " + " TEXT(LL_ENTRY_HEAP_BYTES) ", %rax\n"             \
    "movq (%rax), %rax\n"                                                              \
    "cmpq %rax, %rdx\n"                                                                \
    "jae 1f\n"                                                                         \
    "shrq %rdx\n"                                                                      \
    "andq $-16, %rdx\n"                                                                \
    "addq " TEXT(LL_SHADOW_START) ", %rdx\n"                                           \
    tick                                                                               \
    "movq %rax, (%rdx)\n"                                                              \
    "movq %rcx, 6(%rdx)\n"                                                             \
    "movl " TEXT(place_at) "(%rsp), %eax\n"                                            \
    "movl %eax, 12(%rdx)\n"                                                            \
    "1:\n"

// Belongs behind the code that stamps words: a slot close above the stack pointer is
// stamped after all if the stack's end lies between the two.
#define LOOK_FOR_STACK_END                                                             \
    "4:\n"                                                                             \
    "addq %rsp, %rax\n"                                                                \
    "pushq %rdx\n"                                                                     \
    "movq " TEXT(LL_HOOK_TABLE) " + " TEXT(LL_ENTRY_STACK_END) ", %rdx\n"              \
    "movq %fs:(%rdx), %rdx\n"                                                          \
    "cmpq %rdx, %rax\n"                                                                \
    "jb 5f\n"                                                                          \
    "cmpq %rsp, %rdx\n"                                                                \
    "5:\n"                                                                             \
    "popq %rdx\n"                                                                      \
    "jae 3b\n"                                                                         \
    "jmp 1b\n"

#define HOOK_FOR_WORD(name, tick)                                                      \
    __attribute__((naked)) static void name(void) {                                    \
        __asm__("pushq %rdx\n"                                                         \
                STAMP_WORD(tick, 8)                                                    \
                "popq %rdx\n"                                                          \
                "ret\n"                                                                \
                LOOK_FOR_STACK_END);                                                   \
    }

#define HOOK_FOR_WORDS(name, size_bytes, tick)                                         \
    __attribute__((naked)) static void name(void) {                                    \
        __asm__("pushq %rdx\n"                                                         \
                "pushq %rbx\n"                                                         \
                "pushq %rbp\n"                                                         \
                "movq %rax, %rbx\n"                                                    \
                "leaq " TEXT(size_bytes) "(%rax), %rbp\n"                              \
                "2:\n"                                                                 \
                "movq %rbx, %rax\n"                                                    \
                STAMP_WORD(tick, 24)                                                   \
                "addq $8, %rbx\n"                                                      \
                "cmpq %rbp, %rbx\n"                                                    \
                "jne 2b\n"                                                             \
                "popq %rbp\n"                                                          \
                "popq %rbx\n"                                                          \
                "popq %rdx\n"                                                          \
                "ret\n"                                                                \
                LOOK_FOR_STACK_END);                                                   \
    }
// clang-format on

HOOK_FOR_WORD(lose_word, TICK_ALONE)
HOOK_FOR_WORDS(lose_2_words, 16, TICK_ALONE)
HOOK_FOR_WORDS(lose_4_words, 32, TICK_ALONE)
HOOK_FOR_WORDS(lose_8_words, 64, TICK_ALONE)
HOOK_FOR_WORD(lose_word_locked, TICK_AMONG_THREADS)
HOOK_FOR_WORDS(lose_2_words_locked, 16, TICK_AMONG_THREADS)
HOOK_FOR_WORDS(lose_4_words_locked, 32, TICK_AMONG_THREADS)
HOOK_FOR_WORDS(lose_8_words_locked, 64, TICK_AMONG_THREADS)

bool ll_hooks_are_locked;

static const uintptr_t* heap_bytes;

LL_IN_HOOK bool ll_hooks_is_reference(uint64_t word) {
    uintptr_t start = (uintptr_t)LL_HEAP_TAG << 40;
    return word - start < __atomic_load_n(heap_bytes, __ATOMIC_RELAXED);
}

LL_IN_HOOK bool ll_hooks_is_stack(uintptr_t slot) {
    uintptr_t sp = (uintptr_t)__builtin_frame_address(0);
    bool is_close = slot - sp < STACK_REACH;
    return is_close && !(sp < own_stack_end && own_stack_end <= slot);
}

void ll_hooks_set_stack_end(uintptr_t end) {
    own_stack_end = end;
}

static int64_t distance_of_stack_end(void) {
    return (const char*)&own_stack_end - (const char*)__builtin_thread_pointer();
}

// Without vector registers, which the hooks do not save.
LL_IN_HOOK void ll_hooks_stamp_range(uintptr_t start, size_t size_bytes,
                                     const struct ll_storer* storer) {
    const uint64_t* word = (const uint64_t*)((start + 7) & ~(uintptr_t)7);
    const uint64_t* end = (const uint64_t*)((start + size_bytes) & ~(uintptr_t)7);
    struct ll_origin origin = {0};
    for (; word < end; word++) {
        if (ll_hooks_is_reference(*word)) {
            if (origin.place == 0) {
                origin = ll_origin_of(storer);
            }
            *ll_stamp_of(*word) =
                ll_stamp_pack(ll_hooks_tick(), origin.caller, origin.place);
            if (ll_births_on) {
                ll_births_carry((uintptr_t)word, *word);
            }
        }
    }
}

static bool is_started;

static struct ll_hook_table hooks_alone(void) {
    return (struct ll_hook_table){
        .by_words = {lose_word, lose_2_words, lose_4_words, lose_8_words},
    };
}

static struct ll_hook_table hooks_among_threads(void) {
    struct ll_hook_table hooks = hooks_alone();
    hooks.by_words[0] = lose_word_locked;
    hooks.by_words[1] = lose_2_words_locked;
    hooks.by_words[2] = lose_4_words_locked;
    hooks.by_words[3] = lose_8_words_locked;
    return hooks;
}

static void fill(void) {
    struct ll_hook_table* table = (struct ll_hook_table*)LL_HOOK_TABLE;
    ll_syscall(SYS_mprotect, table, LL_PAGE_SIZE, PROT_READ | PROT_WRITE);
    *table = ll_hooks_are_locked ? hooks_among_threads() : hooks_alone();
    ll_string_hooks_fill(table);
    ll_lanes_fill(table);
    table->stack_end = distance_of_stack_end();
    table->heap_bytes = heap_bytes;
    if (ll_births_on || ll_origins_with_stacks()) {
        ll_word_hooks_fill(table);
    }
    ll_syscall(SYS_mprotect, table, LL_PAGE_SIZE, PROT_READ);
}

enum { PAGES_BYTES = LL_PAGE_SIZE + sizeof(struct ll_loss_page) };
_Static_assert(LL_LOSS_PAGE == LL_HOOK_TABLE + LL_PAGE_SIZE, "mapped together");

static bool map_pages(void) {
    long mapped =
        ll_syscall(SYS_mmap, LL_HOOK_TABLE, PAGES_BYTES, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (mapped > 0 && mapped != LL_HOOK_TABLE) {
        ll_syscall(SYS_munmap, mapped, PAGES_BYTES);
    }
    return mapped == LL_HOOK_TABLE;
}

bool ll_hooks_start(const uintptr_t* used_heap_bytes) {
    if (!is_started && map_pages()) {
        uintptr_t heap_start = (uintptr_t)LL_HEAP_TAG << 40;
        ll_loss_page()->minus_heap_start = -heap_start;
        ll_loss_page()->shadow_start = (uintptr_t)ll_stamp_of(heap_start);
        heap_bytes = used_heap_bytes;
        fill();
        is_started = true;
    }
    return is_started;
}

void ll_hooks_lock_clock(void) {
    ll_hooks_are_locked = true;
    if (is_started) {
        ll_loss_page()->stamp_limit = 0;
        fill();
    }
}
