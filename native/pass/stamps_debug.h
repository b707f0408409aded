// Debug information of local variables and labels. LLVM 19 keeps it beside the
// instructions, LLVM 16 as calls among them.
#pragma once
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Instruction.h"

namespace leakline {

// Lets nothing but statements of the program stand behind the first block's variables.
void set_debug_information_apart(llvm::Function& function);

// The variable that lies at a place; null for none.
llvm::DILocalVariable* declared_at(llvm::Value* place);

// The label that stands at an instruction; null for none.
llvm::DILabel* label_at(llvm::Instruction& instruction);

// What was told of where variables are is forgotten.
void forget_places_of_variables(llvm::Function& function);

} // namespace leakline
