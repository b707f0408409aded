// Exceptions leave functions that have nothing to clean up without any code of theirs
// being run; their variables lose what they hold all the same.
#pragma once
#include "llvm/IR/Function.h"

namespace leakline {

// Makes every exception that leaves the function pass through a block at its end. False
// when none can leave it past such a block already, or it has no variables that matter.
bool add_unwinding(llvm::Function& function);

} // namespace leakline
