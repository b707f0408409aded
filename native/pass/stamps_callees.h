// What calls call, and what names of functions tell.
#pragma once
#include "llvm/ADT/StringRef.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InstrTypes.h"

namespace leakline {

// Null when only the run can tell.
inline const llvm::Function* callee_of(const llvm::CallBase& call) {
    return llvm::dyn_cast<llvm::Function>(call.getCalledOperand()->stripPointerCasts());
}

// Empty when only the run can tell.
inline llvm::StringRef callee_name(const llvm::CallBase& call) {
    const llvm::Function* callee = callee_of(call);
    return callee != nullptr ? callee->getName() : llvm::StringRef();
}

bool is_destructor(llvm::StringRef name);

// One that frees the object as well.
bool is_deleting_destructor(llvm::StringRef name);

} // namespace leakline
