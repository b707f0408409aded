// Room of the compiler's own for objects on their way elsewhere: arguments that are
// passed by their address, and results. clang does not tell its scope.
#pragma once
#include "stamps_slots.h"

namespace leakline {

// The room is empty when somebody is given its address to fill it. What lay there
// before, the object of an earlier turn of a loop, is no reference that this loses.
void clear_passing(const Slots& slots, llvm::Function& function);

} // namespace leakline
