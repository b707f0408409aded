#include "stamps_unwinding.h"

#include "stamps_slots.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/Transforms/Utils/EscapeEnumerator.h"

namespace leakline {

namespace {

bool may_be_left(llvm::Function& function) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
        auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
        if (call != nullptr && !call->doesNotThrow() && !call->isMustTailCall() &&
            !call->isInlineAsm()) {
            return true;
        }
    }
    return false;
}

} // namespace

bool add_unwinding(llvm::Function& function) {
    if (function.doesNotThrow() || !may_be_left(function) ||
        find_slots(function).variables.empty()) {
        return false;
    }
    llvm::EscapeEnumerator escapes(function, "leakline.unwind", true);
    while (escapes.Next() != nullptr) {
    }
    return true;
}

} // namespace leakline
