// Function pointers kept in members of structures and in global variables: where they
// are stored and where calls load them from.
#pragma once

#include "facts_unit.h"

#include "llvm/IR/Instructions.h"

namespace leakline {

// The member or variable that a pointer leads to, as "struct/bytes+offset" or
// "@variable+offset"; empty when it is not one that holds a function pointer.
std::string code_member(UnitContext& unit, const llvm::Value& pointer);

// The same for a place within a global variable.
std::string code_member_of_global(const llvm::GlobalVariable& global,
                                  uint64_t offset_bytes);

} // namespace leakline
