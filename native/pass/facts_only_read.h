// Variables that a unit reads and does nothing else with.
#pragma once
#include "llvm/IR/GlobalVariable.h"

namespace leakline {

// Whether nothing in this unit can change the variable or make its address known.
bool is_only_read(const llvm::GlobalVariable& global);

} // namespace leakline
