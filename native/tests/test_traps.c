// Breakpoints are met, stepped over and taken away, and the code does what it did.
#include "process/traps.h"

#include <signal.h>
#include <ucontext.h>

#include "check.h"

// Three instructions with points at the first and the last.
int trapped(int number);
extern const char trapped_end[];
__asm__(".text\n"
        ".globl trapped\n"
        "trapped: nop\n"
        "leal 1(%rdi), %eax\n"
        ".globl trapped_end\n"
        "trapped_end: ret\n");

static struct ll_watch_point points[2] = {
    {.first_byte = 0x90},
    {.first_byte = 0xc3, .kind = LL_WATCH_RETURN},
};
static const struct ll_watch_function function = {.first_point = 0, .point_count = 2};
static const struct ll_watch_module module;
static struct ll_watch_list list = {
    .modules = &module,
    .functions = &function,
    .points = points,
    .module_count = 1,
    .function_count = 1,
    .point_count = 2,
};
static const uintptr_t biases[1] = {0};
static volatile unsigned hits;

static void on_trap(int signal, siginfo_t* information, void* context) {
    (void)signal;
    if (information->si_code == TRAP_TRACE) {
        CHECK(ll_traps_end_step(context));
        return;
    }
    uintptr_t pc = (uintptr_t)((ucontext_t*)context)->uc_mcontext.gregs[REG_RIP] - 1;
    const struct ll_watch_point* point = ll_traps_point_at(pc);
    CHECK(point != NULL);
    hits++;
    ll_traps_step(point, context);
}

static unsigned hits_of_call(void) {
    hits = 0;
    CHECK(trapped(41) == 42);
    return hits;
}

static void test_points_are_met_while_set(void) {
    CHECK(ll_traps_start(&list, biases, LL_TRAPS_ORIGINAL_CODE));
    CHECK(hits_of_call() == 0);
    ll_traps_set(0);
    CHECK(hits_of_call() == 2 && hits_of_call() == 2);
    ll_traps_take(0);
    CHECK(hits_of_call() == 0);
}

static void test_the_last_user_takes_them_away(void) {
    ll_traps_set(0);
    ll_traps_set(0);
    ll_traps_take(0);
    CHECK(hits_of_call() == 2);
    ll_traps_end();
    CHECK(hits_of_call() == 0);
}

static void test_a_point_is_met_by_itself(void) {
    ll_traps_set_point(1);
    CHECK(hits_of_call() == 1);
    ll_traps_set(0);
    CHECK(hits_of_call() == 2);
    ll_traps_take_point(1);
    CHECK(hits_of_call() == 2);
    ll_traps_set_point(1);
    ll_traps_take(0);
    CHECK(hits_of_call() == 1);
    ll_traps_end();
    CHECK(hits_of_call() == 0);
}

static void test_hot_points_are_given_up_but_returns(void) {
    ll_traps_set(0);
    for (unsigned i = 0; i < 1200; i++) {
        hits_of_call();
    }
    CHECK(hits_of_call() == 1);
    ll_traps_take(0);
}

static void test_changed_code_is_refused_or_left_out(void) {
    points[0].first_byte = 0x91;
    CHECK(!ll_traps_start(&list, biases, LL_TRAPS_ORIGINAL_CODE));
    CHECK(ll_traps_start(&list, biases, LL_TRAPS_PATCHED_CODE));
    ll_traps_set(0);
    CHECK(hits_of_call() == 1);
    ll_traps_take(0);
    CHECK(hits_of_call() == 0);
}

int main(void) {
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
    sigaction(SIGTRAP, &action, NULL);
    points[0].address = (uintptr_t)trapped;
    points[1].address = (uintptr_t)trapped_end;
    test_points_are_met_while_set();
    test_the_last_user_takes_them_away();
    test_a_point_is_met_by_itself();
    test_hot_points_are_given_up_but_returns();
    test_changed_code_is_refused_or_left_out();
    return failures != 0;
}
