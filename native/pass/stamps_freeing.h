// Which calls free what they are given. `free` and the like surely do, and functions of
// the module that do so on all their ways, unless it is null. What was freed has no
// references, so nobody loses one.
#pragma once
#include "llvm/ADT/DenseSet.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Module.h"

#include <utility>

namespace leakline {

// True for calls of the library, and of destructors that free their object, after
// which the block of the first argument is gone.
bool frees_block(const llvm::CallBase& call);

class Freeing {
  public:
    explicit Freeing(llvm::Module& module);

    bool frees(const llvm::CallBase& call, unsigned argument) const;

  private:
    bool body_frees(llvm::Argument& argument) const;
    bool block_frees(const llvm::BasicBlock& block, const llvm::Value* place) const;

    llvm::DenseSet<std::pair<const llvm::Function*, unsigned>> known_;
};

} // namespace leakline
