// Where a scope ends by itself. clang tells the closing brace of the function also
// where a `return` came before it.
#pragma once
#include "llvm/IR/DebugLoc.h"
#include "llvm/IR/Instructions.h"

namespace leakline {

// The place of the statement that ends the scope at an instruction, unless it jumps.
llvm::DebugLoc end_of_scope(llvm::Instruction* end);

} // namespace leakline
