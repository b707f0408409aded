// Writes the code of the stamps in place of the calls that stand for them.
#pragma once
#include "llvm/IR/Module.h"
#include "llvm/IR/PassManager.h"

namespace leakline {

// The last step, after all optimisation. True when there was anything to write.
bool expand_stamps(llvm::Module& module, llvm::FunctionAnalysisManager& analyses);

} // namespace leakline
