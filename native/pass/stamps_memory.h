// Losses in memory: stores, copies, exchanges, and what library functions put behind
// the pointers that they are given.
#pragma once
#include "stamps_function.h"
#include "stamps_released.h"
#include "stamps_slots.h"

#include <vector>

namespace leakline {

// The instructions of a function that may overwrite a pointer in memory.
struct MemoryAccesses {
    std::vector<llvm::StoreInst*> stores;
    std::vector<llvm::AnyMemIntrinsic*> copies;
    std::vector<llvm::Instruction*> exchanges; // atomic ones
    std::vector<std::pair<llvm::CallBase*, unsigned>>
        results; // and the argument's number
};

MemoryAccesses find_memory_accesses(llvm::Function& function, const Slots& slots);

void note_overwritten_memory(const MemoryAccesses& accesses, const Released& released,
                             llvm::Function& function, const Tools& tools);

} // namespace leakline
