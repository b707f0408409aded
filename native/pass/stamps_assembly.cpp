#include "stamps_assembly.h"

#include "stamps_layout.h"

namespace leakline {

namespace {

std::string number(uint64_t value) {
    return std::to_string(value);
}

std::string push(const std::string& reg) {
    return line("pushq " + reg) + line(".cfi_adjust_cfa_offset 8");
}

std::string pop(const std::string& reg) {
    return line("popq " + reg) + line(".cfi_adjust_cfa_offset -8");
}

// Compares bits 40..63 of a pointer, through a register of 64 bits and its lower half.
std::string compare_tag(const std::string& pointer, const std::string& heap_tag,
                        const std::string& whole, const std::string& half) {
    return line("movq " + pointer + ", " + whole) +
           line("shrq " + constant(heap_tag_shift) + ", " + whole) +
           line("cmpl " + heap_tag + ", " + half);
}

// Code counts by itself when the process has one thread and the stack of the context is
// known: only then is it among the quick contexts.
std::string compare_quick(const std::string& whole, const std::string& half) {
    static_assert(quick_contexts_size == 1 << 16, "the lower half tells the place");
    return line("movzwl %r11w, " + half) +
           line("cmpl %r11d, " + number(quick_contexts_address) + "(," + whole + ",4)");
}

// Ticks the clock r9 times in any mode, leaves the time in r10, and lets the runtime
// take the stack of the context in r11 if it is new. Changes r9.
std::string count_in_any_mode() {
    return line("cmpl " + constant(single_thread) + ", " + number(mode_address)) +
           line("jne 2f") + count_alone("%r9", "%r10") + line("jmp 3f") +
           "2:" + line("movq %r9, %r10") +
           line("lock xaddq %r10, " + number(clock_address)) + line("addq %r9, %r10") +
           "3:" + push("%rax") + line("movq " + number(cache_address) + ", %rax") +
           line("movl %r11d, %r9d") +
           line("andl " + constant(context_cache_size - 1) + ", %r9d") +
           line("cmpl %r11d, (%rax,%r9,4)") + pop("%rax") + line("je 4f") +
           push("%rdi") + push("%r11") + line("movl %r11d, %edi") +
           line("call ${1:P}") + pop("%r11") + pop("%rdi") + "4:";
}

} // namespace

std::string line(const std::string& instruction) {
    return "\t" + instruction + "\n";
}

std::string constant(int64_t value) {
    return "$$" + std::to_string(value);
}

std::string compare_tag(const std::string& pointer, const std::string& heap_tag) {
    return compare_tag(pointer, heap_tag, "%r9", "%r9d");
}

std::string compare_quick() {
    return compare_quick("%r10", "%r10d");
}

std::string count_alone(const std::string& ticks, const std::string& time) {
    return line("addq " + ticks + ", " + number(clock_address)) +
           line("movq " + number(clock_address) + ", " + time);
}

// It lies at half the address of what it is of.
std::string find_stamp(const std::string& old, const std::string& stamp) {
    static_assert(granule_bytes == 2 * stamp_bytes);
    return line("movq " + old + ", " + stamp) + line("shrq " + stamp) +
           line("andq " + constant(-stamp_bytes) + ", " + stamp);
}

std::string write_time(const std::string& time, const std::string& stamp) {
    return line("movq " + time + ", (" + stamp + ")");
}

std::string write_site_and_context(const std::string& site, const std::string& stamp) {
    return line("movq " + site + ", " + number(site_offset) + "(" + stamp + ")") +
           line("movl %r11d, " + number(context_offset) + "(" + stamp + ")");
}

// The place to go on stands on the stack as if the code had called. So its frame can be
// found, although the jump comes from code apart from its function.
std::string text_of_counting() {
    return line("pushq %r10") + count_in_any_mode() + line("popq %r9") +
           line("notrack jmpq *%r9");
}

std::string text_of_losing() {
    return push("%rax") + compare_tag("%r9", "${0:c}(%rip)", "%rax", "%eax") +
           line("jne 9f") + find_stamp("%r9", "%rax") + compare_quick("%r9", "%r9d") +
           line("jne 7f") + count_alone(constant(1), "%r9") +
           write_time("%r9", "%rax") + write_site_and_context("%r10", "%rax") +
           line("jmp 9f") + "7:" + push("%r10") +
           line("movl " + constant(1) + ", %r9d") + count_in_any_mode() + pop("%r9") +
           write_time("%r10", "%rax") + write_site_and_context("%r9", "%rax") +
           "9:" + pop("%rax") + line("ret");
}

} // namespace leakline
