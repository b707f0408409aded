// Which code leaves its notes to a function instead of stamping in line.
#pragma once
#include "llvm/Analysis/BlockFrequencyInfo.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/PassManager.h"

namespace leakline {

// Attribute of functions whose notes hardly ever meet a reference.
inline constexpr const char* stamps_seldom = "leakline-stamps-seldom";

class Leaving {
  public:
    Leaving(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);

    bool leaves(const llvm::BasicBlock& block) const;

  private:
    bool is_always_;
    const llvm::BlockFrequencyInfo* frequencies_ = nullptr; // null when always
    const llvm::LoopInfo* loops_ = nullptr;                 // the same
};

} // namespace leakline
