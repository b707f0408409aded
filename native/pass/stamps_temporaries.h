// Values that hold a reference without being a variable: results that nobody keeps, and
// arguments that the caller read from memory which the callee may change.
#pragma once
#include "stamps_losing.h"
#include "stamps_sites.h"
#include "stamps_slots.h"

#include <string>
#include <vector>

namespace leakline {

struct Temporary {
    llvm::Value* value;
    llvm::Instruction* last_use; // it is gone right after this
    std::string name;            // empty for results
    Cause cause;
};

std::vector<Temporary> find_temporaries(llvm::Function& function, const Slots& slots,
                                        const Losing& losing);

// Where those of them end that are results.
llvm::DenseSet<const llvm::Instruction*>
ends_of_results(const std::vector<Temporary>& temporaries);

// True for calls that give a block back, or may give it another place.
bool releases_block(const llvm::CallBase& call);

// The first instruction that runs after another one; null when there is no such place.
llvm::Instruction* next_after(llvm::Instruction* instruction);

} // namespace leakline
