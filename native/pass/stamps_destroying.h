// Objects whose destructor is called while their memory stays: elements of containers,
// values of optionals and the like.
#pragma once
#include "stamps_function.h"

#include "llvm/IR/InstrTypes.h"

#include <vector>

namespace leakline {

// The calls of destructors behind which nobody else tells what the object held.
std::vector<llvm::CallBase*> find_destroying(llvm::Function& function);

// What the object still refers to is lost when it has been destroyed. Its memory no
// longer holds these references: a later object there overwrites nothing, and memory
// that the destructor freed may be used again without being held from there.
void note_destroyed(llvm::ArrayRef<llvm::CallBase*> calls, llvm::Function& function,
                    const Tools& tools);

} // namespace leakline
