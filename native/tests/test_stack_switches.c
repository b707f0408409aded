// Captures where the stack does not simply grow and shrink: signal handlers,
// coroutines, longjmp, threads, fork.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "stack_oracle.h"

static __attribute__((noinline)) void compare_below(unsigned depth) {
    if (depth > 0) {
        compare_below(depth - 1);
    } else {
        capture_and_compare();
    }
    KEEP_FRAME();
}

static unsigned count_flags(uint32_t node, uint16_t flag) {
    unsigned count = 0;
    struct ll_node found;
    for (; ll_node_get(node, &found); node = found.parent) {
        count += (found.flags & flag) != 0;
    }
    return count;
}

// Volatile since the compiler takes raise() for a function that calls nothing here.
static volatile uint32_t handler_node;

static void on_signal(int signal) {
    (void)signal;
    handler_node = capture_and_compare();
    compare_below(3);
}

static void install(int signal, int flags, void (*handler)(int)) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    CHECK(sigaction(signal, &action, NULL) == 0);
}

static __attribute__((noinline)) void raise_below(unsigned depth) {
    if (depth > 0) {
        raise_below(depth - 1);
    } else {
        raise(SIGUSR1);
    }
    KEEP_FRAME();
}

static void handler_on_same_stack_shows_what_it_interrupted(void) {
    install(SIGUSR1, 0, on_signal);
    handler_node = 0;
    raise_below(5);
    CHECK(count_flags(handler_node, LL_NODE_signal) == 1);
    CHECK(count_flags(handler_node, LL_NODE_exact_pc) == 1);
    CHECK(count_flags(handler_node, LL_NODE_stopped) == 0);
    compare_below(2);
}

static void handler_on_own_stack_shows_what_it_interrupted(void) {
    size_t size = 256 << 10;
    stack_t stack = {.ss_sp = mmap(NULL, size, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
                     .ss_size = size};
    CHECK(sigaltstack(&stack, NULL) == 0);
    install(SIGUSR1, SA_ONSTACK, on_signal);
    handler_node = 0;
    raise_below(7);
    CHECK(count_flags(handler_node, LL_NODE_signal) == 1);
    CHECK(count_flags(handler_node, LL_NODE_stopped) == 0);
    raise_below(7);
    stack.ss_flags = SS_DISABLE;
    sigaltstack(&stack, NULL);
    compare_below(2);
}

static volatile sig_atomic_t ticks;

static void on_tick(int signal) {
    (void)signal;
    capture();
    ticks++;
}

// Each capture may be interrupted by one in a handler, at any instruction.
static void captures_interrupted_by_captures_stay_right(void) {
    install(SIGALRM, SA_RESTART, on_tick);
    struct itimerval often = {{0, 50}, {0, 50}};
    setitimer(ITIMER_REAL, &often, NULL);
    uint32_t expected = 0;
    for (unsigned i = 0; i < 2000000 && (ticks < 200 || i < 200000); i++) {
        uint32_t node = capture();
        expected = expected != 0 ? expected : node;
        CHECK(node == expected);
        if (failures > 5) {
            break;
        }
    }
    often = (struct itimerval){0};
    setitimer(ITIMER_REAL, &often, NULL);
    CHECK(ticks > 0);
}

static void on_tick_compare(int signal) {
    (void)signal;
    capture_and_compare();
    ticks++;
}

static int compare_numbers(const void* left, const void* right) {
    return *(const int*)left - *(const int*)right;
}

// Prologues, epilogues, the linkage table, hand-written functions of libc: wherever the
// signal strikes, the stack is the one that the compiler's unwinder finds.
static void captures_at_any_instruction_are_right(void) {
    install(SIGALRM, SA_RESTART, on_tick_compare);
    struct itimerval often = {{0, 200}, {0, 200}};
    ticks = 0;
    setitimer(ITIMER_REAL, &often, NULL);
    volatile double sum = 0;
    for (unsigned round = 0; round < 200000 && ticks < 300; round++) {
        int numbers[64];
        for (unsigned i = 0; i < 64; i++) {
            numbers[i] = rand();
        }
        qsort(numbers, 64, sizeof *numbers, compare_numbers);
        char text[32];
        sum += snprintf(text, sizeof text, "%d", numbers[0]);
        sum += strtod(text, NULL) + (double)strlen(text);
    }
    often = (struct itimerval){0};
    setitimer(ITIMER_REAL, &often, NULL);
    CHECK(ticks >= 100);
}

static ucontext_t main_context;
static ucontext_t coroutines[2];

static void coroutine_0(void) {
    for (unsigned i = 0; i < 20; i++) {
        compare_below(i % 7);
        CHECK(swapcontext(&coroutines[0], &coroutines[1]) == 0);
    }
}

static void coroutine_1(void) {
    for (unsigned i = 0; i < 19; i++) {
        compare_below(i % 5);
        CHECK(swapcontext(&coroutines[1], &coroutines[0]) == 0);
    }
    CHECK(swapcontext(&coroutines[1], &main_context) == 0);
}

static void make_coroutine(ucontext_t* context, void (*function)(void)) {
    size_t size = 256 << 10;
    getcontext(context);
    context->uc_stack.ss_sp =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    context->uc_stack.ss_size = size;
    context->uc_link = &main_context;
    makecontext(context, function, 0);
}

static void coroutines_have_stacks_of_their_own(void) {
    unsigned before = stacks_compared;
    make_coroutine(&coroutines[0], coroutine_0);
    make_coroutine(&coroutines[1], coroutine_1);
    CHECK(swapcontext(&main_context, &coroutines[0]) == 0);
    CHECK(stacks_compared == before + 39);
    compare_below(2);
}

static jmp_buf back;

static volatile bool jumps = true;

static __attribute__((noinline)) void jump_from(unsigned depth) {
    volatile char space[64];
    space[depth % sizeof space] = 1;
    if (depth > 0) {
        jump_from(depth - 1);
    } else {
        capture_and_compare();
        if (jumps) {
            longjmp(back, 1);
        }
    }
    KEEP_FRAME();
}

static void frames_left_by_longjmp_are_forgotten(void) {
    for (volatile unsigned i = 0; i < 20; i++) {
        if (setjmp(back) == 0) {
            jump_from(3 + i);
        }
        compare_below(i % 3);
    }
}

static volatile uint32_t last_node;

// Far larger than what is left of the stack on which its return address is put.
static __attribute__((noinline)) uintptr_t place_in_large_frame(void) {
    volatile char space[40000];
    space[0] = 1;
    struct ll_node found = {0};
    CHECK(ll_node_get(capture(), &found));
    space[1] = space[0];
    return found.pc;
}

static void capture_and_leave(void) {
    last_node = capture();
    longjmp(back, 1);
}

static void run_on_stack(uint8_t* top, uintptr_t return_address,
                         void (*function)(void)) {
    __asm__ volatile("movq %0, %%rsp\n\tpushq %1\n\tjmp *%2"
                     :
                     : "r"(top), "r"(return_address), "r"(function)
                     : "memory");
    __builtin_unreachable();
}

// A coroutine made by hand, whose first return address leads to a frame that cannot be.
static void memory_beyond_a_stack_is_not_read(void) {
    size_t size = 64 << 10;
    uint8_t* memory = mmap(NULL, 2 * size, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(mprotect(memory + size, size, PROT_NONE) == 0);
    uintptr_t place = place_in_large_frame();
    for (volatile unsigned i = 0; i < 3; i++) {
        if (setjmp(back) == 0) {
            run_on_stack(memory + size - 64, place, capture_and_leave);
        }
    }
    struct ll_node found = {0};
    CHECK(ll_node_get(last_node, &found) && ll_node_get(found.parent, &found));
    CHECK(found.pc == place && found.parent == 0);
    CHECK(found.flags == LL_NODE_stopped && found.reason == LL_STOP_outside_stack);
    munmap(memory, 2 * size);
    compare_below(2);
}

static void* compare_in_thread(void* argument) {
    for (unsigned i = 0; i < 50; i++) {
        compare_below(i % 20);
    }
    ll_stack_thread_exit();
    compare_below(3);
    return argument;
}

static void threads_come_and_go(void) {
    for (unsigned round = 0; round < 30; round++) {
        pthread_t threads[4];
        for (unsigned i = 0; i < 4; i++) {
            CHECK(pthread_create(&threads[i], NULL, compare_in_thread, NULL) == 0);
        }
        for (unsigned i = 0; i < 4; i++) {
            pthread_join(threads[i], NULL);
        }
    }
}

static void forked_child_captures_on(void) {
    compare_below(4);
    pid_t child = fork();
    if (child == 0) {
        ll_stack_fork_child();
        failures = 0;
        compare_below(4);
        compare_below(9);
        _exit(failures != 0);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
}

int main(void) {
    CHECK(ll_stack_start(DEPTH));
    handler_on_same_stack_shows_what_it_interrupted();
    handler_on_own_stack_shows_what_it_interrupted();
    captures_interrupted_by_captures_stay_right();
    captures_at_any_instruction_are_right();
    coroutines_have_stacks_of_their_own();
    frames_left_by_longjmp_are_forgotten();
    memory_beyond_a_stack_is_not_read();
    threads_come_and_go();
    forked_child_captures_on();
    return failures != 0;
}
