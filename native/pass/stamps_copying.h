// Copies whose length only the run tells. Most are short: one function looks at what
// they overwrite and copies, too, where that was two calls, the second one of a library
// that is patched and would look at the same words again.
#pragma once
#include "llvm/IR/Module.h"

namespace leakline {

// Comes after all optimisation, which knows more of a copy than of a call.
void join_copies(llvm::Module& module);

} // namespace leakline
