// Decides which variables have to note a loss, and where. A variable does not when
// something else surely holds what it holds: its caller, memory that nothing was lost
// from since, or another variable.
#pragma once
#include "stamps_losing.h"
#include "stamps_slots.h"

#include "llvm/ADT/DenseSet.h"

#include <utility>
#include <vector>

namespace leakline {

struct Drop {
    llvm::Instruction* at; // a store, the end of a scope, or the end of the function
    unsigned variable;     // number in Slots::variables
};

// The places where a variable may be the last to hold a reference, in the order of the
// function's instructions. `callers_keep_arguments`:
// whoever calls the function holds what it passes until the call is over.
std::vector<Drop> find_drops(llvm::Function& function, const Slots& slots,
                             const Losing& losing, bool callers_keep_arguments);

} // namespace leakline
