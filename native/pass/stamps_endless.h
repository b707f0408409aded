// Calls that do not come back: what the caller's variables hold is lost there, unless
// the program ends.
#pragma once
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Module.h"

namespace leakline {

// Marks the functions of a module that never return as LLVM does when it optimises,
// which then leaves out all that comes behind their calls.
void mark_endless_functions(llvm::Module& module);

// True for a call that leaves the frames of its callers as `longjmp` does. Exceptions
// are not meant: cleanups run on their way.
bool leaves_frame(const llvm::CallBase& call);

} // namespace leakline
