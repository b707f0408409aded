// References in memory that the program mapped itself, below and above a guard page,
// and on stacks that are not running.
#include <stdio.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "corpus.h"

static ucontext_t main_context;
static ucontext_t coroutine_context;

CASE void anonymous_mapping_ok(void) {
    void** page =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    page[100] = malloc(70);
}

CASE void shared_anonymous_mapping_ok(void) {
    void** page =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    page[100] = malloc(71);
}

CASE void sparse_mapping_ok(void) {
    size_t size = (size_t)64 << 30;
    char* area = mmap(NULL, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (area == MAP_FAILED) {
        return;
    }
    *(void**)(area + size - 4096) = malloc(72);
}

// Missed by the checker: what a mapping holds is not followed.
CASE void FN_unmapped_bad(void) {
    void** page =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    page[0] = malloc(73);
    munmap(page, 4096);
}

// Reported by the checker: calls are taken to come back, as a coroutine might.
CASE void FP_suspended_coroutine_ok(void) {
    char* volatile held = malloc(74);
    swapcontext(&coroutine_context, &main_context);
    KEEP(held);
}

static void start_coroutine(void) {
    enum { SIZE = 64 << 10 };
    char* stack =
        mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    getcontext(&coroutine_context);
    coroutine_context.uc_stack.ss_sp = stack;
    coroutine_context.uc_stack.ss_size = SIZE;
    coroutine_context.uc_link = &main_context;
    makecontext(&coroutine_context, FP_suspended_coroutine_ok, 0);
    swapcontext(&main_context, &coroutine_context);
}

int main(void) {
    anonymous_mapping_ok();
    shared_anonymous_mapping_ok();
    sparse_mapping_ok();
    FN_unmapped_bad();
    start_coroutine();
    scrub();
    return 0;
}
