// Code that sleeps until it is entered, in a small module made here: three functions,
// of which two form a unit, and one site.
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arm/stubs.h"
#include "arm/wake.h"
#include "check.h"

enum {
    PAGE = 4096,
    // Pages of the address space, from the module's bias on.
    TEXT = 0,
    GATE = 1,
    ENTRY_STUBS = 2,
    STUBS = 3,
    ALL = 4,
    // Offsets of the functions, and what they return.
    WATCHED = 0x100,
    BESIDE = 0x140,
    ALONE = 0x180,
    PARTS = 3,
    AS_WRITTEN = 0x41414141,
    BY_STUB = 0x42424242,
    BY_BESIDE = 0x43434343,
};

// mov eax, value; ret
static void write_function(uint8_t* place, int32_t value) {
    place[0] = 0xb8;
    memcpy(place + 1, &value, sizeof value);
    place[5] = 0xc3;
}

static void write_jump(uint8_t* place, uint8_t opcode, const uint8_t* target) {
    int32_t distance = (int32_t)(target - (place + LL_ARM_JUMP_LENGTH));
    place[0] = opcode;
    memcpy(place + 1, &distance, sizeof distance);
}

static struct ll_arm_header header = {
    .page_count = 1,
    .entry_page_count = 1,
    .mapping_count = 1,
    .site_count = 1,
    .stub_page_count = 1,
    .part_count = PARTS,
    .gates = {GATE * PAGE, 0},
    .entry_stubs_address = ENTRY_STUBS * PAGE,
};
static struct ll_arm_mapping mapping = {.address = STUBS * PAGE};
static uint32_t stub_page;
static struct ll_arm_site site = {
    .address = WATCHED,
    .distance = STUBS * PAGE - (WATCHED + LL_ARM_JUMP_LENGTH),
    .length = LL_ARM_JUMP_LENGTH,
    .armed_length = LL_ARM_JUMP_LENGTH,
    .page_count = 1,
    .site_count = 1,
};
static struct ll_arm_part parts[PARTS] = {
    {.address = WATCHED, .site_count = 1, .unit_count = 2, .has_entry = 1},
    {.address = BESIDE, .first_site = 1, .unit_count = 2, .has_entry = 1},
    {.address = ALONE,
     .first_site = 1,
     .first_of_unit = 2,
     .unit_count = 1,
     .has_entry = 1},
};
static struct ll_arm_module module;
static uint8_t* text;
static uint8_t fit, awake, room;

// lea rsp, [rsp - 128]; push number; call gate; jmp back: as plans have it.
static void write_entry_stub(uint8_t* stub, uint8_t* place, uint32_t number) {
    static const uint8_t over_red_zone[] = {0x48, 0x8d, 0x64, 0x24, 0x80, 0x68};
    memcpy(stub, over_red_zone, sizeof over_red_zone);
    memcpy(stub + sizeof over_red_zone, &number, sizeof number);
    ptrdiff_t moved = stub - place;
    write_jump(stub + 10, 0xe8, text + (ptrdiff_t)GATE * PAGE + 64 + moved);
    write_jump(stub + 15, 0xe9, text + parts[number].address + moved);
}

// The file of the plan: a page for the header, one of stubs and one of entries.
static int make_file(void) {
    static uint8_t content[3 * PAGE];
    write_function(content + PAGE, BY_STUB);
    for (uint32_t i = 0; i < PARTS; i++) {
        size_t offset = (size_t)i * LL_ARM_ENTRY_STUB_BYTES;
        write_entry_stub(content + (ptrdiff_t)2 * PAGE + offset,
                         text + (ptrdiff_t)ENTRY_STUBS * PAGE + offset, i);
    }
    int file = memfd_create("plan", 0);
    CHECK(file >= 0 && write(file, content, sizeof content) == sizeof content);
    return file;
}

static void write_text(void) {
    static const int32_t values[PARTS] = {AS_WRITTEN, BY_BESIDE, AS_WRITTEN};
    for (uint32_t i = 0; i < PARTS; i++) {
        uint8_t* function = text + parts[i].address;
        write_function(function, values[i]);
        memcpy(parts[i].original, function, LL_ARM_JUMP_LENGTH);
        write_jump(function, 0xe9,
                   text + (ptrdiff_t)ENTRY_STUBS * PAGE +
                       (ptrdiff_t)i * LL_ARM_ENTRY_STUB_BYTES);
    }
    memcpy(site.original, parts[0].original, LL_ARM_JUMP_LENGTH);
}

static void start(void) {
    // Where nobody else maps anything while some of the pages are free.
    void* apart = (void*)0x551000000000;
    uint8_t* all =
        mmap(apart, ALL * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(all + PAGE, (ALL - 1) * PAGE);
    CHECK(mprotect(all, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
    text = all;
    fit = awake = room = 0;
    module = (struct ll_arm_module){
        .wake = ll_wake_part,
        .bias = (uintptr_t)text,
        .fit = &fit,
        .awake = &awake,
        .rooms = &room,
        .plan = {.header = &header,
                 .mappings = &mapping,
                 .sites = &site,
                 .stub_pages = &stub_page,
                 .parts = parts},
    };
    write_text();
    module.plan.file.file = make_file();
    CHECK(ll_stubs_start(&module) && ll_stubs_map_lazily(&module));
    close(module.plan.file.file);
}

static void end(void) {
    ll_stubs_unmap(&module);
    munmap(text, PAGE);
}

static int call(uint32_t offset) {
    int (*function)(void);
    void* address = text + offset;
    memcpy(&function, &address, sizeof function);
    return function();
}

static bool is_as_written(uint32_t part) {
    return memcmp(text + parts[part].address, parts[part].original,
                  LL_ARM_JUMP_LENGTH) == 0;
}

static void* call_watched(void* result) {
    *(int*)result = call(WATCHED);
    return NULL;
}

static void test_the_first_to_enter_wakes_the_unit_and_others_find_it_awake(void) {
    enum { THREADS = 4, ROUNDS = 50 };
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t threads[THREADS];
        int results[THREADS];
        start();
        CHECK(module.rooms[0] == LL_ARM_ROOM_WANTED);
        for (int i = 0; i < THREADS; i++) {
            CHECK(pthread_create(&threads[i], NULL, call_watched, &results[i]) == 0);
        }
        for (int i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
            // Some may be faster than the one that wakes it.
            CHECK(results[i] == BY_STUB || results[i] == AS_WRITTEN);
        }
        CHECK(module.rooms[0] == LL_ARM_ROOM_TAKEN && ll_arm_is_fit(&module, 0));
        CHECK(is_as_written(1) && !is_as_written(2));
        CHECK(call(BESIDE) == BY_BESIDE && call(WATCHED) == BY_STUB);
        end();
    }
}

static void test_a_part_without_sites_wakes_its_unit(void) {
    start();
    CHECK(call(BESIDE) == BY_BESIDE);
    CHECK(call(WATCHED) == BY_STUB);
    end();
}

static void test_a_site_whose_stub_finds_no_room_runs_as_it_is(void) {
    start();
    void* taken = text + (ptrdiff_t)STUBS * PAGE;
    CHECK(mmap(taken, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
               0) == taken);
    CHECK(call(WATCHED) == AS_WRITTEN);
    CHECK(module.unfit_count == 1 && !ll_arm_is_fit(&module, 0));
    CHECK(is_as_written(0) && is_as_written(1));
    munmap(taken, PAGE);
    end();
}

// All that calls may clobber, the flags, a vector register and the red zone.
static void test_an_entry_leaves_registers_as_they_are(void) {
    start();
    memset(text + ALONE, 0x90, LL_ARM_JUMP_LENGTH);
    memcpy(parts[2].original, text + ALONE, LL_ARM_JUMP_LENGTH);
    write_jump(text + ALONE, 0xe9,
               text + (ptrdiff_t)ENTRY_STUBS * PAGE + 2 * LL_ARM_ENTRY_STUB_BYTES);
    uint64_t before[12] = {11, 22, 33, 44, 55, 66, 77, 88, 99, 0x8d5, 123, 456};
    uint64_t after[12] = {0};
    const uint64_t* from = before;
    uint64_t* to = after;
    void* address = text + ALONE;
    __asm__ volatile("lea -512(%%rsp), %%rsp\n\t"
                     "push %%rbx\n\t"
                     "push %%r12\n\t"
                     "push %%r13\n\t"
                     "push %%r14\n\t"
                     "mov %%rax, %%rbx\n\t"
                     "mov %%rcx, %%r12\n\t"
                     "mov %%rdx, %%r13\n\t"
                     "mov 80(%%rbx), %%r14\n\t"
                     "mov %%r14, -64(%%rsp)\n\t"
                     "movq 88(%%rbx), %%xmm5\n\t"
                     "pushfq\n\t"
                     "pop %%r14\n\t"
                     "or 72(%%rbx), %%r14\n\t"
                     "mov (%%rbx), %%rax\n\t"
                     "mov 8(%%rbx), %%rcx\n\t"
                     "mov 16(%%rbx), %%rdx\n\t"
                     "mov 24(%%rbx), %%rsi\n\t"
                     "mov 32(%%rbx), %%rdi\n\t"
                     "mov 40(%%rbx), %%r8\n\t"
                     "mov 48(%%rbx), %%r9\n\t"
                     "mov 56(%%rbx), %%r10\n\t"
                     "mov 64(%%rbx), %%r11\n\t"
                     "push %%r14\n\t"
                     "popfq\n\t"
                     "call *%%r13\n\t"
                     "pushfq\n\t"
                     "pop %%r14\n\t"
                     "mov %%r14, 72(%%r12)\n\t"
                     "mov %%rax, (%%r12)\n\t"
                     "mov %%rcx, 8(%%r12)\n\t"
                     "mov %%rdx, 16(%%r12)\n\t"
                     "mov %%rsi, 24(%%r12)\n\t"
                     "mov %%rdi, 32(%%r12)\n\t"
                     "mov %%r8, 40(%%r12)\n\t"
                     "mov %%r9, 48(%%r12)\n\t"
                     "mov %%r10, 56(%%r12)\n\t"
                     "mov %%r11, 64(%%r12)\n\t"
                     "mov -64(%%rsp), %%rax\n\t"
                     "mov %%rax, 80(%%r12)\n\t"
                     "movq %%xmm5, 88(%%r12)\n\t"
                     "pop %%r14\n\t"
                     "pop %%r13\n\t"
                     "pop %%r12\n\t"
                     "pop %%rbx\n\t"
                     "lea 512(%%rsp), %%rsp"
                     : "+a"(from), "+c"(to), "+d"(address)
                     :
                     : "rsi", "rdi", "r8", "r9", "r10", "r11", "xmm5", "memory", "cc");
    CHECK((awake & 4) != 0);
    after[9] &= 0x8d5; // the arithmetic flags
    CHECK(memcmp(before, after, sizeof before) == 0);
    end();
}

static void test_a_child_forked_meanwhile_enters_code(void) {
    start();
    ll_wake_hold();
    pid_t child = fork();
    if (child == 0) {
        bool is_right = call(WATCHED) == BY_STUB;
        ll_wake_fork_child();
        _exit(is_right && call(ALONE) == AS_WRITTEN ? 0 : 1);
    }
    CHECK(call(ALONE) == AS_WRITTEN);
    ll_wake_let_go();
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(call(WATCHED) == BY_STUB);
    end();
}

static void test_without_system_calls_code_runs_as_it_is(void) {
    start();
    ll_wake_end();
    CHECK(call(BESIDE) == BY_BESIDE && call(WATCHED) == AS_WRITTEN);
    CHECK(is_as_written(0) && is_as_written(1) && !is_as_written(2));
    end();
}

int main(void) {
    test_the_first_to_enter_wakes_the_unit_and_others_find_it_awake();
    test_a_part_without_sites_wakes_its_unit();
    test_a_site_whose_stub_finds_no_room_runs_as_it_is();
    test_an_entry_leaves_registers_as_they_are();
    test_a_child_forked_meanwhile_enters_code();
    test_without_system_calls_code_runs_as_it_is();
    return failures != 0;
}
