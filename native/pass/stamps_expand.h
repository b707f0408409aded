// Writes the code of the stamps in place of the calls that stand for them.
#pragma once
#include "stamps_sites.h"

#include "llvm/IR/Module.h"
#include "llvm/IR/PassManager.h"

namespace leakline {

// The last step, after all optimisation.
void expand_stamps(llvm::Module& module, SiteTable& sites,
                   llvm::FunctionAnalysisManager& analyses);

} // namespace leakline
