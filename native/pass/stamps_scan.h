// Functions of an instrumented module that go through the words of some memory.
#pragma once
#include "llvm/IR/Function.h"
#include "llvm/IR/Module.h"

namespace leakline {

// What becomes of a reference that was noted.
enum class AfterScan { keep, clear };

// void scan(void* start, size_t bytes, site): notes the references among the words as
// lost, by calls of `lost` (old, site) or of one that is told the slot as well.
llvm::Function* make_scan(const char* name, llvm::Function* lost, AfterScan after);

// void bear_all(void* to, const void* from, size_t bytes, site): notes the words that
// are about to be copied as born at their new places, by calls of `born`.
llvm::Function* make_bear_all(llvm::Module& module, llvm::Function* born);

} // namespace leakline
