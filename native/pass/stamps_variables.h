// Losses by variables: overwritten ones, and ends of their scopes.
#pragma once
#include "stamps_flow.h"
#include "stamps_function.h"
#include "stamps_released.h"

namespace leakline {

// Also makes every slot empty when its scope begins: what the memory held before is
// nobody's reference.
void note_variables(const Slots& slots, const Drops& drops, const Released& released,
                    llvm::Function& function, const Tools& tools);

} // namespace leakline
