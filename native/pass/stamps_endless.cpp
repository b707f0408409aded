#include "stamps_endless.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

#include <vector>

namespace leakline {

namespace {

bool goes_on(const llvm::BasicBlock& block) {
    return llvm::none_of(block, [](const llvm::Instruction& instruction) {
        auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
        return call != nullptr && call->doesNotReturn();
    });
}

// True when some way leads to a return, or out by an exception.
bool may_end(const llvm::Function& function) {
    llvm::SmallPtrSet<const llvm::BasicBlock*, 16> seen = {&function.getEntryBlock()};
    std::vector<const llvm::BasicBlock*> pending = {&function.getEntryBlock()};
    while (!pending.empty()) {
        const llvm::BasicBlock* block = pending.back();
        pending.pop_back();
        if (!goes_on(*block)) {
            continue;
        }
        if (llvm::isa<llvm::ReturnInst>(block->getTerminator())) {
            return true;
        }
        for (const llvm::BasicBlock* next : llvm::successors(block)) {
            if (seen.insert(next).second) {
                pending.push_back(next);
            }
        }
    }
    return false;
}

bool is_candidate(const llvm::Function& function) {
    return function.hasExactDefinition() && !function.doesNotReturn() &&
           !function.hasFnAttribute(llvm::Attribute::Naked) &&
           !function.hasFnAttribute(llvm::Attribute::PresplitCoroutine);
}

// Of a program that ends so, nobody wants to know what its variables held.
bool is_crash(llvm::StringRef name) {
    static const llvm::StringSet<> names = {"abort",
                                            "__assert_fail",
                                            "__assert",
                                            "__assert_perror_fail",
                                            "__stack_chk_fail",
                                            "_ZSt9terminatev",
                                            "__clang_call_terminate"};
    return names.contains(name);
}

} // namespace

void mark_endless_functions(llvm::Module& module) {
    bool changed = true;
    while (changed) {
        changed = false;
        for (llvm::Function& function : module) {
            if (is_candidate(function) && !may_end(function)) {
                function.setDoesNotReturn();
                changed = true;
            }
        }
    }
}

bool leaves_frame(const llvm::CallBase& call) {
    const llvm::Function* callee = call.getCalledFunction();
    return llvm::isa<llvm::CallInst>(call) && !llvm::isa<llvm::IntrinsicInst>(call) &&
           call.doesNotReturn() && !call.isMustTailCall() &&
           (call.doesNotThrow() || call.getFunction()->doesNotThrow()) &&
           !(callee != nullptr && is_crash(callee->getName()));
}

} // namespace leakline
