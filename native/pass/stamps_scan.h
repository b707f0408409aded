// Functions of an instrumented module that go through the words of some memory.
#pragma once
#include "llvm/IR/Function.h"
#include "llvm/IR/Module.h"

namespace leakline {

// Of a slot.
inline constexpr unsigned word_bytes = 8;

// void take(void* start, size_t bytes, site): notes the references among the words as
// lost, by calls of `lost` or of one that is told the slot, and
// makes them zero.
llvm::Function* make_take(llvm::Function* lost);

// void copy_over(void* to, const void* from, size_t bytes, site): the same for words
// that others are about to be copied over. Those that are copied themselves stay.
llvm::Function* make_copy_over(llvm::Function* lost);
inline constexpr const char* copy_over_name = "leakline.copy_over";

// A function with the parameters of `rest` that leaves everything to it when a word at
// `to` is a reference. Returns the block for what it does else, which is still empty.
llvm::BasicBlock* make_search(const char* name, llvm::Function* rest);

// void bear_all(void* to, const void* from, size_t bytes, site): notes the words that
// are about to be copied as born at their new places, by calls of `born`.
llvm::Function* make_bear_all(llvm::Module& module, llvm::Function* born);

} // namespace leakline
