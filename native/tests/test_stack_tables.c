// Unwind tables: frames with unusual rules, code without tables, and tables that are
// damaged.
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "stack/cfi.h"
#include "stack/image.h"
#include "stack/unwind.h"
#include "stack_oracle.h"

typedef void callback(void);

// Keeps its CFA in rbx, as the dynamic loader's symbol resolver does.
void frame_through_rbx(callback* function);
__asm__(".text\n"
        ".type frame_through_rbx, @function\n"
        "frame_through_rbx:\n"
        ".cfi_startproc\n"
        "pushq %rbx\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset %rbx, -16\n"
        "movq %rsp, %rbx\n"
        ".cfi_def_cfa_register %rbx\n"
        "andq $-64, %rsp\n"
        "subq $64, %rsp\n"
        "call *%rdi\n"
        "movq %rbx, %rsp\n"
        ".cfi_def_cfa_register %rsp\n"
        "popq %rbx\n"
        ".cfi_def_cfa_offset 8\n"
        ".cfi_restore %rbx\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size frame_through_rbx, . - frame_through_rbx\n");

// Its CFA is an expression with an operation that means nothing in unwind tables
// (DW_OP_call_frame_cfa).
void frame_of_unknown_expression(callback* function);
__asm__(".text\n"
        ".type frame_of_unknown_expression, @function\n"
        "frame_of_unknown_expression:\n"
        ".cfi_startproc\n"
        ".cfi_escape 0x0f, 0x01, 0x9c\n"
        "subq $8, %rsp\n"
        "call *%rdi\n"
        "addq $8, %rsp\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size frame_of_unknown_expression, . - frame_of_unknown_expression\n");

static volatile uint32_t last_node;

static __attribute__((noinline)) void compare(void) {
    last_node = capture_and_compare();
}

static __attribute__((noinline)) void only_capture(void) {
    last_node = capture();
    KEEP_FRAME();
}

static void frame_through_another_register_is_followed(void) {
    for (unsigned i = 0; i < 3; i++) {
        frame_through_rbx(compare);
        compare();
    }
}

// The outermost node of a stack, and the number of its nodes.
static struct ll_node root_of(uint32_t node, unsigned* length) {
    struct ll_node found = {0};
    for (*length = 0; ll_node_get(node, &found); node = found.parent) {
        ++*length;
        if (found.parent == 0) {
            break;
        }
    }
    return found;
}

static void unknown_expression_stops_the_walk_and_says_so(void) {
    unsigned length;
    frame_of_unknown_expression(only_capture);
    struct ll_node root = root_of(last_node, &length);
    CHECK(length == 2);
    CHECK(root.flags == LL_NODE_stopped && root.reason == LL_STOP_expression);
    CHECK(root.pc - (uintptr_t)&frame_of_unknown_expression < 32);
}

// subq $8,%rsp; call *%rdi; addq $8,%rsp; ret
static const uint8_t CODE_WITHOUT_TABLES[] = {0x48, 0x83, 0xec, 0x08, 0xff, 0xd7,
                                              0x48, 0x83, 0xc4, 0x08, 0xc3};

static void code_without_tables_stops_the_walk_and_says_so(void) {
    uint8_t* code =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(code, CODE_WITHOUT_TABLES, sizeof CODE_WITHOUT_TABLES);
    CHECK(mprotect(code, 4096, PROT_READ | PROT_EXEC) == 0);
    void (*call)(callback*);
    memcpy(&call, &code, sizeof call);
    unsigned length;
    call(only_capture);
    struct ll_node root = root_of(last_node, &length);
    CHECK(length == 2);
    CHECK(root.flags == LL_NODE_stopped && root.reason == LL_STOP_no_unwind_table);
    CHECK(root.pc == (uintptr_t)code + 6 && root.module == 0);
    munmap(code, 4096);
}

// Walks outwards from an interrupted place with all registers.
static void on_signal(int signal, siginfo_t* info, void* context) {
    (void)signal;
    (void)info;
    static const int order[16] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                  REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                  REG_R12, REG_R13, REG_R14, REG_R15};
    const greg_t* interrupted = ((ucontext_t*)context)->uc_mcontext.gregs;
    struct ll_registers registers = {.pc = (uint64_t)interrupted[REG_RIP]};
    for (unsigned i = 0; i < 16; i++) {
        registers.general[i] = (uint64_t)interrupted[order[i]];
    }
    uintptr_t pcs[256];
    unsigned count = 0;
    uintptr_t cfa = 0;
    do {
        pcs[count++] = registers.pc;
    } while (count < 256 && ll_unwind_step(&registers, &cfa));
    capture_and_compare();
    CHECK(oracle.count > count);
    for (unsigned i = 0; i < count; i++) {
        CHECK(pcs[i] == oracle.pcs[oracle.count - count + i]);
    }
}

static __attribute__((noinline)) void raise_signal(void) {
    raise(SIGUSR1);
    KEEP_FRAME();
}

static void steps_from_an_interrupted_place_find_all_callers(void) {
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    raise_signal();
    frame_through_rbx(raise_signal);
}

// A copy of this program's tables, in memory that ends where they end. The pointers in
// them are relative, so the copy describes addresses as far from it as the original.
struct copy {
    uint8_t* memory;
    size_t size_bytes;
    ElfW(Phdr) segment;
    struct ll_image image;
    uintptr_t shift;
    size_t tables_start; // of the part to damage
};

// Sanitizers take gaps between variables for out of bounds; the tables lie among them.
static __attribute__((no_sanitize("address"))) void
copy_segment(uint8_t* to, const uint8_t* from, size_t size_bytes) {
    for (size_t i = 0; i < size_bytes; i++) {
        to[i] = ((const volatile uint8_t*)from)[i];
    }
}

static bool copy_tables(struct copy* copy) {
    struct ll_image image;
    const ElfW(Phdr) * segments;
    CHECK(ll_image_at((uintptr_t)&copy_tables, &image));
    unsigned count = ll_image_segments(&image, &segments);
    uintptr_t header = (uintptr_t)image.eh_header;
    for (unsigned i = 0; i < count; i++) {
        uintptr_t start = image.bias + segments[i].p_vaddr;
        if (segments[i].p_type != PT_LOAD || header < start ||
            header >= start + segments[i].p_filesz) {
            continue;
        }
        size_t heads = sizeof(ElfW(Ehdr)) + sizeof(ElfW(Phdr));
        copy->size_bytes = heads + segments[i].p_filesz;
        copy->memory = malloc(copy->size_bytes);
        copy_segment(copy->memory + heads, (const uint8_t*)start, segments[i].p_filesz);
        ElfW(Ehdr)* elf = (ElfW(Ehdr)*)copy->memory;
        memcpy(elf, (const void*)image.start, sizeof *elf);
        elf->e_phoff = sizeof *elf;
        elf->e_phnum = 1;
        elf->e_phentsize = sizeof(ElfW(Phdr));
        ElfW(Phdr)* segment = (ElfW(Phdr)*)(elf + 1);
        *segment = (ElfW(Phdr)){
            .p_type = PT_LOAD, .p_flags = PF_R, .p_filesz = copy->size_bytes};
        copy->shift = (uintptr_t)copy->memory + heads - start;
        copy->tables_start = heads + (header - start);
        copy->image =
            (struct ll_image){.start = (uintptr_t)copy->memory,
                              .end = (uintptr_t)copy->memory + copy->size_bytes,
                              .bias = (uintptr_t)copy->memory,
                              .name = "copy",
                              .eh_header = image.eh_header + copy->shift};
        return true;
    }
    return false;
}

static bool rows_are_equal(const struct ll_cfi_row* left,
                           const struct ll_cfi_row* right) {
    return memcmp(&left->cfa, &right->cfa, sizeof left->cfa) == 0 &&
           memcmp(left->registers, right->registers, sizeof left->registers) == 0;
}

static void search_table_and_scan_agree(void) {
    struct copy copy;
    CHECK(copy_tables(&copy));
    uintptr_t here = (uintptr_t)&search_table_and_scan_agree;
    enum { COUNT_ENCODING = 2 };
    for (unsigned offset = 0; offset < 400; offset += 13) {
        struct ll_cfi_row found;
        struct ll_cfi_row searched;
        struct ll_cfi_row scanned;
        uint8_t* encoding = (uint8_t*)copy.image.eh_header + COUNT_ENCODING;
        uint8_t before = *encoding;
        uintptr_t address = here + offset + copy.shift;
        CHECK(ll_cfi_find(here + offset, &found) == LL_CFI_FOUND);
        CHECK(ll_cfi_find_in(&copy.image, address, &searched) == LL_CFI_FOUND);
        *encoding = 0xff;
        CHECK(ll_cfi_find_in(&copy.image, address, &scanned) == LL_CFI_FOUND);
        *encoding = before;
        CHECK(rows_are_equal(&found, &searched));
        CHECK(rows_are_equal(&found, &scanned));
    }
    free(copy.memory);
}

static void damaged_tables_are_never_read_past_their_end(void) {
    struct copy copy;
    CHECK(copy_tables(&copy));
    uintptr_t here = (uintptr_t)&damaged_tables_are_never_read_past_their_end;
    size_t length = copy.size_bytes - copy.tables_start;
    unsigned found = 0;
    srand(7);
    for (unsigned i = 0; i < 20000; i++) {
        // Half of the damage goes to the head, which all look-ups read.
        size_t range = i % 2 == 0 ? 16 : length;
        uint8_t* victim = copy.memory + copy.tables_start + (size_t)rand() % range;
        uint8_t before = *victim;
        *victim = (uint8_t)rand();
        struct ll_cfi_row row;
        uintptr_t address = here + (uintptr_t)rand() % 4000 - 2000 + copy.shift;
        found += ll_cfi_find_in(&copy.image, address, &row) == LL_CFI_FOUND;
        if (i % 4 != 0) {
            *victim = before;
        }
    }
    CHECK(found > 0);
    free(copy.memory);
}

static void random_programs_and_expressions_end(void) {
    struct ll_unwind_state state = {.known = LL_ALL_REGISTERS};
    uint64_t slots[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct ll_stack_reader reader = {
        .bounds = {(uintptr_t)slots, (uintptr_t)(slots + 8)}};
    for (unsigned i = 0; i < LL_CFI_REGISTERS; i++) {
        state.registers[i] = (uintptr_t)slots;
    }
    srand(11);
    unsigned valid = 0;
    for (unsigned i = 0; i < 50000; i++) {
        size_t length = 1 + (size_t)rand() % 24;
        uint8_t* bytes = malloc(length);
        for (size_t j = 0; j < length; j++) {
            bytes[j] = (uint8_t)rand();
        }
        uint64_t value;
        valid += ll_expression_value(bytes, bytes + length, &reader, &state, 0, &value);
        struct ll_cfi_program program = {bytes, bytes + length, 1, -8, 0x1b};
        struct ll_cfi_row row = {.base = bytes, .end = bytes + length};
        struct ll_cfi_row initial = row;
        valid += ll_cfi_run(&program, 0, 1000, &initial, &row);
        free(bytes);
    }
    CHECK(valid > 0);
}

static uint64_t value_of(const uint8_t* expression, size_t length, uint64_t rsp,
                         uint64_t rip) {
    struct ll_unwind_state state = {.known = LL_ALL_REGISTERS};
    struct ll_stack_reader reader = {.wanted = 0};
    uint64_t value = 0;
    state.registers[LL_RSP] = rsp;
    state.registers[LL_CFI_RETURN_ADDRESS] = rip;
    CHECK(ll_expression_value(expression, expression + length, &reader, &state, 0,
                              &value));
    return value;
}

static void linkage_table_expression_depends_on_the_instruction(void) {
    // breg7 8; breg16 0; lit15; and; lit11; ge; lit3; shl; plus
    static const uint8_t expression[] = {11,   0x77, 0x08, 0x80, 0x00, 0x3f,
                                         0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22};
    CHECK(value_of(expression, sizeof expression, 1000, 0x1005) == 1008);
    CHECK(value_of(expression, sizeof expression, 1000, 0x100b) == 1016);
}

int main(void) {
    CHECK(ll_stack_start(DEPTH));
    frame_through_another_register_is_followed();
    unknown_expression_stops_the_walk_and_says_so();
    code_without_tables_stops_the_walk_and_says_so();
    steps_from_an_interrupted_place_find_all_callers();
    search_table_and_scan_agree();
    damaged_tables_are_never_read_past_their_end();
    random_programs_and_expressions_end();
    linkage_table_expression_depends_on_the_instruction();
    return failures != 0;
}
