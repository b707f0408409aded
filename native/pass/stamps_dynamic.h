// Arrays whose size the program computes, and other room that it takes on its stack.
#pragma once
#include "stamps_function.h"

#include "llvm/IR/Instructions.h"

#include <vector>

namespace leakline {

std::vector<llvm::AllocaInst*> find_dynamic_room(llvm::Function& function);

// The room is empty when it is taken; all it holds is lost when it is given back.
void note_dynamic_room(llvm::ArrayRef<llvm::AllocaInst*> rooms,
                       llvm::Function& function, const Tools& tools);

} // namespace leakline
