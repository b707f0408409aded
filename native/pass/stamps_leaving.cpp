#include "stamps_leaving.h"

namespace leakline {

namespace {

// A block that runs in less than this part of the calls of its function is not worth
// the code of a stamp.
constexpr uint64_t seldom_part = 8;

} // namespace

// In code that is not optimised, a value that is needed behind a branch would stay in
// the frame, like a reference.
Leaving::Leaving(llvm::Function& function, llvm::FunctionAnalysisManager& analyses)
    : is_always_(function.hasOptNone() || function.hasFnAttribute(stamps_seldom)) {
    if (!is_always_) {
        frequencies_ = &analyses.getResult<llvm::BlockFrequencyAnalysis>(function);
        loops_ = &analyses.getResult<llvm::LoopAnalysis>(function);
    }
}

// The cases of an interpreter's loop look as if each were rare. LLVM 19 may place
// arithmetic before the label of a landing pad, where it is never run.
bool Leaving::leaves(const llvm::BasicBlock& block) const {
    if (is_always_) {
        return true;
    }
    uint64_t calls =
        frequencies_->getBlockFreq(&block.getParent()->getEntryBlock()).getFrequency();
    return !block.isLandingPad() && loops_->getLoopFor(&block) == nullptr &&
           frequencies_->getBlockFreq(&block).getFrequency() < calls / seldom_part;
}

} // namespace leakline
