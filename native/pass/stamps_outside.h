// Notes of what the caller holds, unless the caller is not instrumented: a library that
// was handed the function's address, or the start of a thread. Only when the function
// was called from outside of its module are they losses.
#pragma once
#include "llvm/IR/Module.h"

namespace leakline {

inline constexpr const char* lost_outside_name = "leakline.lost_outside";

// Makes ordinary notes of them, on a way that is taken for such calls only. In a caller
// that a function was inlined into they go.
void place_outside_notes(llvm::Module& module);

} // namespace leakline
