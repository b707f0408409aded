// Slots of the frame that still point to blocks which were freed. When that memory is
// used again they are no references to the new block, so what they hold is not lost
// with them.
#pragma once
#include "stamps_changes.h"
#include "stamps_flow.h"
#include "stamps_losing.h"
#include "stamps_slots.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/IR/IRBuilder.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace leakline {

// Fills `slots.releases` and `slots.possible_releases`.
void find_releases(llvm::Function& function, const Losing& losing, Slots& slots);

class Released {
  public:
    // Keeps beside each such slot whether its block was freed since it got its value.
    Released(llvm::Function& function, const Slots& slots, const Drops& drops);

    // True while the slot points to a freed block; null for slots of which that is
    // never so.
    llvm::Value* is_gone(llvm::IRBuilder<>& builder, llvm::Value* address) const;

  private:
    llvm::AllocaInst* add_flag(Place slot);
    void release(Place slot, llvm::Instruction* at);
    void ask(Place slot, llvm::CallBase* call);
    void follow(Place slot, llvm::AllocaInst* flag);

    llvm::MapVector<Place, llvm::AllocaInst*> flags_;
};

} // namespace leakline
