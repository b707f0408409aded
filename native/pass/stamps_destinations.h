// Where scopes are left for. clang lets all ways out of a scope run through the same
// cleanups, and switches behind them by the number of the destination
// (stamps_exits.cpp): most ways through such a block are none that the program can
// take.
#pragma once
#include "llvm/ADT/DenseSet.h"
#include "llvm/IR/BasicBlock.h"
#include "llvm/IR/Instructions.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace leakline {

// A variable of the compiler's own that holds nothing but numbers of destinations.
bool holds_destinations(const llvm::Value* place);

using Destination = int64_t;
inline constexpr Destination any_destination = -1;

class Destinations {
  public:
    explicit Destinations(llvm::Function& function);

    // Where a block goes on that was entered with a destination, and with which ones.
    std::vector<std::pair<llvm::BasicBlock*, Destination>>
    next(llvm::BasicBlock& block, Destination destination) const;

  private:
    void find_awaiting(llvm::Function& function);

    const llvm::Value* place_ = nullptr; // null: no scope is left in several ways
    // Blocks from which a switch is reached before another number is stored.
    llvm::DenseSet<const llvm::BasicBlock*> awaiting_;
};

} // namespace leakline
