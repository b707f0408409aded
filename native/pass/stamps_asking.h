// Asks the runtime, after a call that may have freed a block, whether it did.
#pragma once
#include "llvm/IR/Function.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Module.h"

namespace leakline {

// The module's function for it: i1(i64). False while nobody watches.
llvm::Function* declare_asking(llvm::Module& module);

} // namespace leakline
