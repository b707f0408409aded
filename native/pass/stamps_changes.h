// What happens to the value of a slot of the frame between two places of a function.
#pragma once
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/Instructions.h"

#include <cstdint>
#include <optional>
#include <utility>

namespace leakline {

// A variable and the offset of one of its words.
using Place = std::pair<llvm::AllocaInst*, uint64_t>;

// The slot of the frame at an address, as far as the compiler knows which one it is.
std::optional<Place> place_at(const llvm::DataLayout& layout, llvm::Value* address);

// What may give a slot another value. None is known when others keep its address.
class Changes {
  public:
    explicit Changes(Place slot) : slot_(slot) {
        add(slot.first);
    }

    bool are_known() const {
        return are_known_;
    }

    const llvm::SmallPtrSetImpl<llvm::Instruction*>& all() const {
        return all_;
    }

    // True when the slot is what it was read as when another instruction runs.
    bool are_none_between(llvm::LoadInst* load, llvm::Instruction* end) const;

    // True when somebody may get a block behind an instruction while the slot still has
    // the value that it has there.
    bool are_behind_allocations(llvm::Instruction* at) const;

  private:
    bool ends_scope(const llvm::Instruction& instruction) const;
    void add(llvm::Value* address);
    void add_use(llvm::Instruction* user, llvm::Value* address);
    bool may_change(llvm::StoreInst& store) const;
    bool is_in(llvm::BasicBlock::iterator from, llvm::BasicBlock::iterator to) const;

    Place slot_;
    llvm::SmallPtrSet<llvm::Instruction*, 8> all_;
    llvm::SmallPtrSet<llvm::Value*, 8> known_;
    bool are_known_ = true;
};

} // namespace leakline
