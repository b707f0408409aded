// Keeps the places where the source assigns local variables. Promotion removes the
// stores to a variable and with them the lines of its assignments.
#pragma once

#include "llvm/IR/Function.h"

namespace leakline {

// Adds a debug record with the store's own location after each store to a named local.
void mark_assignments(llvm::Function& function);

} // namespace leakline
