// Scopes of variables that the compiler leaves unmarked: in a function with computed
// jumps clang marks neither the start nor the end of any.
#pragma once
#include "llvm/IR/Function.h"
#include "llvm/IR/IntrinsicInst.h"

#include <vector>

namespace leakline {

// Marks the ends of the scopes of variables that are only read and written by name, as
// debug information has them. The marks tell notes where to stand; they have to be
// removed again, since the compiler counts on being able to keep such variables.
std::vector<llvm::Instruction*> mark_scopes(llvm::Function& function);

} // namespace leakline
