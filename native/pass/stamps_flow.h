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

// What a variable holds alone, as far as only the run can tell, is kept in a companion
// of the variable: null while somebody else holds it.
enum class Sole {
    nothing,     // somebody else holds it
    freed,       // the block is gone
    value,       // what the variable holds
    of_variable, // what the companion of another variable has
};

// How a companion changes.
struct SoleChange {
    enum class When { before, after } when;
    llvm::Instruction* at;
    unsigned variable;
    Sole sole;
    unsigned other; // the other variable
};

struct Drop {
    // A store, the end of a scope, the end of the function, or a call that leaves it.
    llvm::Instruction* at;
    unsigned variable; // number in Slots::variables
    bool only_outside; // its caller holds what it holds, if it is instrumented
    // Only the variable's companion tells whether it is the last. Otherwise it is, or a
    // note too many does no harm.
    bool depends_on_way;
    // Set when `at` is reached in several ways, and this is one on which the variable
    // may be the last holder: the block that it comes from.
    llvm::BasicBlock* from;
};

struct Drops {
    std::vector<Drop> drops;
    // Of all variables, in the order in which they happen.
    std::vector<SoleChange> changes;
};

// The places where a variable may be the last to hold a reference, in the order of the
// function's instructions. Instrumented callers hold what they pass until the call is
// over; only a function whose address is taken can have others.
Drops find_drops(llvm::Function& function, const Slots& slots, const Losing& losing);

} // namespace leakline
