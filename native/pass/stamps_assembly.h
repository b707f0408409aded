// The instructions that notes consist of, as text for the assembler. Their registers:
// r11 has the context, r10 the time, r9 the stamp, r8 an earlier time, or what was read
// from the frame; the register of a time has the site once the time is written. What is
// left to a function has what was lost in r9 and its site in r10.
#pragma once
#include <cstdint>
#include <string>

namespace leakline {

// What notes change, besides the flags; the last of them only where several stand
// together, or where what was lost has to be read.
inline constexpr const char* registers_of_notes[] = {"r11", "r10", "r9", "r8"};

std::string line(const std::string& instruction);
std::string constant(int64_t value);

// Compares the tag of a pointer with the heap's: equal for a heap pointer. Changes r9.
std::string compare_tag(const std::string& pointer, const std::string& heap_tag);

// Equal when code may count by itself, for the context in r11. Changes r10.
std::string compare_quick();

// Ticks the clock, where code may do so by itself, and leaves the time in a register.
std::string count_alone(const std::string& ticks, const std::string& time);

// Leaves the place of the stamp of what was lost in a register.
std::string find_stamp(const std::string& old, const std::string& stamp);

// These two write the stamp, in this order: each store covers unused bytes of the one
// before.
std::string write_time(const std::string& time, const std::string& stamp);
std::string write_site_and_context(const std::string& site, const std::string& stamp);

// Functions that the code of notes uses; $0 is the heap's tag, $1 the function for new
// contexts. One counts in any mode: code jumps there with r9 ticks, and with the place
// to go on in r10. The other stamps r9 if it is a heap pointer; r10 has the site.
std::string text_of_counting();
std::string text_of_losing();

} // namespace leakline
