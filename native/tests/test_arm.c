// The parts of lens `accesses` that need no program: clock, touch words, waiting sites,
// code that is changed while it runs, and the pages of stubs.
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "arm/change.h"
#include "arm/clock.h"
#include "arm/due.h"
#include "arm/image.h"
#include "arm/probe.h"
#include "arm/stubs.h"
#include "arm/text.h"
#include "arm/touch.h"
#include "arm/uses.h"
#include "check.h"
#include "os/own_thread.h"

static void test_ticks_are_never_ahead_and_close(void) {
    uint64_t last = 0;
    for (uint64_t ns = 0; ns < (uint64_t)1 << 55; ns += ns / 7 + 3000001) {
        uint64_t tick = ll_tick_of_ns(ns);
        CHECK(tick >= last && tick <= LL_TOUCH_TICK_MAX);
        CHECK(ll_ns_of_tick(tick) <= ns);
        CHECK(ns - ll_ns_of_tick(tick) < 10000001 + ns / 200000);
        CHECK(ll_tick_of_ns(ll_ns_of_tick(tick)) == tick);
        last = tick;
    }
    CHECK(ll_tick_of_ns(UINT64_MAX) == LL_TOUCH_TICK_MAX);
}

static void test_a_touch_word_keeps_its_parts(void) {
    uint64_t word = ll_touch_word(LL_TOUCH_TICK_MAX, LL_TOUCH_USE_MAX - 1, 77);
    CHECK(ll_touch_last(word) == LL_TOUCH_TICK_MAX);
    CHECK(ll_touch_use(word) == LL_TOUCH_USE_MAX - 1);
    CHECK(ll_touch_first(word) == 77);
}

static void test_sites_come_in_the_order_they_are_due(void) {
    enum { COUNT = 1000 };
    static struct ll_arm_record records[COUNT];
    struct ll_due due;
    CHECK(ll_due_start(&due, COUNT));
    CHECK(ll_due_take(&due) == NULL);
    srand(3);
    for (int i = 0; i < COUNT; i++) {
        records[i].time = (uint64_t)rand() % 5000;
        ll_due_add(&due, &records[i]);
    }
    struct ll_arm_record more = {0};
    ll_due_add(&due, &more); // finds no room
    uint64_t last = 0;
    for (int i = 0; i < COUNT; i++) {
        struct ll_arm_record* record = ll_due_take(&due);
        CHECK(record != NULL && record->time >= last);
        last = record == NULL ? last : record->time;
    }
    CHECK(ll_due_first(&due) == NULL);
}

enum { FIRST = 0x41414141, SECOND = 0x42424242 };

// mov eax, FIRST; ret. Armed it jumps to: mov eax, SECOND; ret.
static uint8_t* code;
static struct ll_arm_site site;

static void make_code(size_t offset) {
    uint8_t* function = code + offset;
    uint8_t* stub = code + 2048;
    int32_t values[] = {FIRST, SECOND};
    function[0] = stub[0] = 0xb8;
    memcpy(function + 1, &values[0], 4);
    memcpy(stub + 1, &values[1], 4);
    function[5] = stub[5] = 0xc3;
    int32_t distance = (int32_t)(stub - (function + 5));
    site = (struct ll_arm_site){
        .address = (uint32_t)offset,
        .distance = distance,
        .armed_length = 5,
        .site_count = 1,
    };
    memcpy(site.original, function, sizeof site.original);
}

static const uint8_t breakpoint = 0xcc; // of somebody else
static bool is_running = true;
static uint64_t toggles;

static void* toggle(void* argument) {
    const struct ll_arm_module* module = argument;
    while (__atomic_load_n(&is_running, __ATOMIC_RELAXED)) {
        ll_text_arm(module, &site);
        ll_text_arm(module, &site);
        ll_text_disarm(module, &site);
        __atomic_add_fetch(&toggles, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

// At every place of a cache line where the five bytes fit.
static void test_running_code_is_changed_as_a_whole(void) {
    code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct ll_arm_module module = {.bias = (uintptr_t)code};
    for (size_t offset = 64; offset <= 64 + 59; offset++) {
        make_code(offset);
        int (*function)(void);
        void* start = code + offset;
        memcpy(&function, &start, sizeof function);
        is_running = true;
        toggles = 0;
        pthread_t toggler;
        CHECK(pthread_create(&toggler, NULL, toggle, &module) == 0);
        int wrong = 0;
        while (__atomic_load_n(&toggles, __ATOMIC_RELAXED) < 2000) {
            int result = function();
            wrong += result != FIRST && result != SECOND;
        }
        __atomic_store_n(&is_running, false, __ATOMIC_RELAXED);
        pthread_join(toggler, NULL);
        CHECK(wrong == 0);
        CHECK(function() == FIRST);
        ll_text_arm(&module, &site);
        CHECK(function() == SECOND);
        ll_text_disarm(&module, &site);
    }
}

// This machine is one of those on which it was seen to hold.
static void test_the_probe_finds_that_changes_are_seen_whole(void) {
    CHECK(ll_probe_code_changes_whole());
    CHECK(ll_own_thread_id() == 0);
}

static void on_trap(int signal, siginfo_t* information, void* context) {
    (void)signal;
    (void)information;
    greg_t* pc = &((ucontext_t*)context)->uc_mcontext.gregs[REG_RIP];
    if (!ll_change_was_trap((uintptr_t)*pc - 1)) {
        abort();
    }
    --*pc;
}

static void* poke(void* argument) {
    const struct ll_arm_module* module = argument;
    for (int i = 0; i < 3000; i++) {
        ll_change_arm(module, &site);
        ll_change_disarm(module, &site); // the same site twice in a batch
        ll_changes_finish();
    }
    __atomic_store_n(&is_running, false, __ATOMIC_RELAXED);
    return NULL;
}

static void test_code_is_changed_in_the_order_of_text_poke(void) {
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
    CHECK(sigaction(SIGTRAP, &action, NULL) == 0);
    CHECK(ll_change_by_poking());
    struct ll_arm_module module = {.bias = (uintptr_t)code};
    make_code(64);
    int (*function)(void);
    void* start = code + 64;
    memcpy(&function, &start, sizeof function);
    is_running = true;
    pthread_t poker;
    CHECK(pthread_create(&poker, NULL, poke, &module) == 0);
    int wrong = 0;
    while (__atomic_load_n(&is_running, __ATOMIC_RELAXED)) {
        int result = function();
        wrong += result != FIRST && result != SECOND;
    }
    pthread_join(poker, NULL);
    CHECK(wrong == 0);
    CHECK(function() == FIRST);
    CHECK(!ll_change_was_trap((uintptr_t)&breakpoint));
    ll_arm.is_poked = false;
}

// A page that was written to shows whether it comes from its file again.
static void test_pages_of_stubs_that_ran_come_from_their_file_again(void) {
    enum { PAGES = 601, KEPT = 599, OTHER = 600, BYTE = 100 };
    int file = memfd_create("stubs", 0);
    CHECK(file >= 0 && ftruncate(file, PAGES * 4096L) == 0);
    uint8_t* stubs =
        mmap(NULL, PAGES * 4096L, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    struct ll_arm_module module = {.bias = (uintptr_t)stubs};
    memset(stubs, 1, PAGES * 4096L);
    for (int32_t page = 0; page < KEPT; page++) {
        struct ll_arm_place place = {&module, {.site_count = 1}};
        place.site.distance = page * 4096 + BYTE - LL_ARM_JUMP_LENGTH;
        place.site.other_page = page == 0 ? OTHER : 0;
        ll_stub_let_go(&place);
        ll_stub_let_go(&place);
    }
    struct ll_arm_place beside = {&module, {.distance = KEPT * 4096}};
    ll_stub_let_go(&beside);
    ll_stubs_give_back();
    for (int page = 0; page < PAGES; page++) {
        CHECK(stubs[page * 4096 + BYTE] == (page == KEPT));
    }
    munmap(stubs, PAGES * 4096L);
    close(file);
}

static void test_pages_of_text_that_nobody_writes_come_from_their_file_again(void) {
    enum { PAGES = 5, TEXT_AT = 0x2000 };
    int file = memfd_create("text", 0);
    CHECK(file >= 0 && ftruncate(file, PAGES * 4096L) == 0);
    uint8_t* text =
        mmap(NULL, PAGES * 4096L, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    uint8_t written = 0;
    struct ll_arm_module module = {.bias = (uintptr_t)text - TEXT_AT};
    module.plan.copy.text_address = TEXT_AT;
    module.plan.copy.text_page_count = PAGES;
    module.plan.header = &module.plan.copy;
    ll_image_let_go(&module);
    module.written = &written;
    ll_image_will_write(&module, TEXT_AT + 4096 + 7);
    ll_image_will_write(&module, TEXT_AT + PAGES * 4096);
    uintptr_t end = (uintptr_t)text + PAGES * 4096L;
    CHECK(!ll_image_will_be_written(&module, end, end + 4096));
    CHECK(ll_image_will_be_written(&module, end - 4096 - 1, end - 4096 + 1));
    memset(text, 1, PAGES * 4096L);
    ll_image_let_go(&module);
    static const bool stays[PAGES] = {false, true, false, true, true};
    for (int page = 0; page < PAGES; page++) {
        CHECK((text[page * 4096] != 0) == stays[page]);
    }
    munmap(text, PAGES * 4096L);
    close(file);
}

static void test_the_other_page_of_a_stub_is_found_below_and_above(void) {
    static struct ll_arm_mapping mappings[] = {
        {.address = 0x5000}, {.address = -0x3000}, {.address = 0x9000}};
    static uint32_t stub_pages[] = {0, 1, 2, 0};
    struct ll_arm_plan plan = {.mappings = mappings, .stub_pages = stub_pages};
    struct ll_arm_site jump = {
        .address = 0x100, .distance = 0x5000, .page_count = 2, .site_count = 1};
    CHECK(ll_stub_other_page(&plan, &jump) == -8);
    jump.stub_pages_at = 2;
    CHECK(ll_stub_other_page(&plan, &jump) == 4);
    jump.page_count = 1;
    CHECK(ll_stub_other_page(&plan, &jump) == 0);
}

static void test_uses_are_told_apart_by_place_and_stack(void) {
    CHECK(ll_uses_start());
    uint32_t first = ll_use_number(1, 7);
    uint32_t second = ll_use_number(1, 8);
    CHECK(first != 0 && second != 0 && first != second);
    CHECK(ll_use_number(1, 7) == first && ll_use_number(2, 7) != first);
    ll_use_note(first);
    ll_use_note(second);
    ll_use_note(second);
    CHECK(ll_use_get(second)->before[0] == first);
    CHECK(ll_use_get(second)->before[1] == 0);
    CHECK(ll_use_get(0) == NULL);
}

int main(void) {
    test_ticks_are_never_ahead_and_close();
    test_a_touch_word_keeps_its_parts();
    test_sites_come_in_the_order_they_are_due();
    test_running_code_is_changed_as_a_whole();
    test_the_probe_finds_that_changes_are_seen_whole();
    test_code_is_changed_in_the_order_of_text_poke();
    test_pages_of_stubs_that_ran_come_from_their_file_again();
    test_pages_of_text_that_nobody_writes_come_from_their_file_again();
    test_the_other_page_of_a_stub_is_found_below_and_above();
    test_uses_are_told_apart_by_place_and_stack();
    return failures != 0;
}
