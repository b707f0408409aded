// Names of slots as the source spells them, from debug information only: an optimising
// compiler keeps no other names.
#pragma once
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Instructions.h"

#include <string>

namespace leakline {

// The variable that a stack slot holds; null for what the compiler made itself.
llvm::DILocalVariable* variable_of(llvm::AllocaInst* slot);

// The slot at an address: `list`, `node->next`, `table[3]`; empty when nothing is
// known.
std::string name_of_slot(llvm::Value* address);

// The same for memory that may be more than one slot: `table`, `*node`.
std::string name_of_memory(llvm::Value* address);

// The part of an aggregate variable at an offset in bytes: `pair.second`.
std::string name_of_part(llvm::AllocaInst* aggregate, uint64_t offset);

// True when debug information tells that a pointer is one to a union with pointers.
bool points_to_union(const llvm::Value* pointer);

// True for variables that are meant to hold pointers as numbers.
bool is_pointer_sized_number(const llvm::DILocalVariable* variable);

} // namespace leakline
