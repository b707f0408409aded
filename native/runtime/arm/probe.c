#include "arm/probe.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "arm/text.h"
#include "os/memory.h"
#include "os/own_thread.h"
#include "os/syscall.h"

enum {
    LINE = 64,
    LENGTH = 5, // of the instruction, as of a jump
    PLACES = 8, // within a cache line, each in a line of its own
    TOGGLES = 64,
    LOAD_A = 0xb8, // mov eax, constant
    LOAD_D = 0xba, // mov edx, constant
    RETURN = 0xc3,
};
static const uint32_t value_a = 0x41424344;
static const uint32_t value_d = 0x1e2d3c4b;

static struct {
    uint8_t* code;
    uint32_t place; // that is being changed
    bool is_done;
} probe;

// Processors fetch code in blocks of 8 bytes or a multiple: all places but the last, at
// the end of its line, cross from one block into the next.
static uint8_t* place_at(uint32_t number) {
    enum { BLOCK = 8, BEFORE_NEXT = 2 };
    uint32_t offset = (number + 1) * BLOCK - BEFORE_NEXT;
    uint32_t last = LINE - LENGTH;
    return probe.code + number * LINE + (offset < last ? offset : last);
}

static uint64_t word_with(uint64_t word, uint8_t opcode, uint32_t value,
                          unsigned shift) {
    uint64_t bytes = (uint64_t)value << 8 | opcode;
    uint64_t mask = ((uint64_t)1 << 8 * LENGTH) - 1;
    return (word & ~(mask << shift)) | bytes << shift;
}

static void toggle_place(uint8_t* start) {
    uintptr_t line = (uintptr_t)start & -(uintptr_t)LINE;
    uintptr_t last = line + LINE - sizeof(uint64_t);
    uint64_t* word = (uint64_t*)((uintptr_t)start < last ? (uintptr_t)start : last);
    unsigned shift = (unsigned)(8 * ((uintptr_t)start - (uintptr_t)word));
    uint64_t first;
    memcpy(&first, word, sizeof first);
    uint64_t second = word_with(first, LOAD_D, value_d, shift);
    for (int i = 0; i < TOGGLES; i++) {
        ll_text_exchange(word, first, second);
        ll_text_exchange(word, second, first);
    }
}

static void toggle_all(void) {
    for (uint32_t i = 0; i < PLACES; i++) {
        __atomic_store_n(&probe.place, i, __ATOMIC_RELEASE);
        toggle_place(place_at(i));
    }
    __atomic_store_n(&probe.is_done, true, __ATOMIC_RELEASE);
}

// Runs one place; true when it was one of the two instructions.
static bool runs_whole(const uint8_t* start) {
    uint32_t a = 0;
    uint32_t d = 0;
    __asm__ volatile("lea -128(%%rsp), %%rsp\n\t"
                     "call *%2\n\t"
                     "lea 128(%%rsp), %%rsp"
                     : "+a"(a), "+d"(d)
                     : "r"(start)
                     : "memory", "cc");
    return (a == value_a && d == 0) || (a == 0 && d == value_d);
}

static void write_places(void) {
    for (uint32_t i = 0; i < PLACES; i++) {
        uint8_t* start = place_at(i);
        start[0] = LOAD_A;
        memcpy(start + 1, &value_a, sizeof value_a);
        start[LENGTH] = RETURN;
    }
}

static bool run_until_done(void) {
    bool is_whole = true;
    while (!__atomic_load_n(&probe.is_done, __ATOMIC_ACQUIRE)) {
        uint32_t place = __atomic_load_n(&probe.place, __ATOMIC_ACQUIRE);
        for (int i = 0; i < TOGGLES; i++) {
            is_whole &= runs_whole(place_at(place));
        }
    }
    while (ll_own_thread_id() != 0) {
        ll_syscall(SYS_sched_yield);
    }
    return is_whole;
}

bool ll_probe_code_changes_whole(void) {
    size_t size = LL_PAGE_SIZE;
    probe.code = ll_memory_map(size);
    if (probe.code == NULL) {
        return false;
    }
    write_places();
    bool is_whole = ll_syscall(SYS_mprotect, probe.code, size,
                               PROT_READ | PROT_WRITE | PROT_EXEC) == 0 &&
                    ll_own_thread_start(toggle_all) && run_until_done();
    ll_memory_unmap(probe.code, size);
    return is_whole;
}
