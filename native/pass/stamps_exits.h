// The site of a scope's end: the statement that left the scope. Several statements
// (`return`, `break`, `goto`, the closing brace) often share one block of cleanups;
// then the site is chosen by the branch that led there.
#pragma once
#include "stamps_sites.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/IR/Instructions.h"

#include <functional>
#include <utility>

namespace leakline {

class Exits {
  public:
    // Makes the site of one exit at a place of the source.
    using MakeSite = std::function<llvm::Constant*(llvm::DebugLoc)>;

    // The site for the end of one variable's scope at an instruction. `variable` tells
    // the sites of different variables apart.
    llvm::Value* site(llvm::Instruction* end, const void* variable,
                      const MakeSite& make);

    // The same when the instruction is reached from one of the blocks that lead to its
    // own.
    llvm::Value* site_coming_from(llvm::BasicBlock* from, llvm::Instruction* end,
                                  const void* variable, const MakeSite& make);

  private:
    llvm::Value* site_on_entry(llvm::BasicBlock* block, const void* variable,
                               llvm::DebugLoc own, const MakeSite& make);
    llvm::Value* site_from(llvm::BasicBlock* from, llvm::BasicBlock* to,
                           const void* variable, llvm::DebugLoc own,
                           const MakeSite& make);

    llvm::DenseMap<std::pair<llvm::BasicBlock*, const void*>, llvm::Value*> known_;
};

} // namespace leakline
