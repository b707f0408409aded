#include "stamps_outside.h"

#include "stamps_emit.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

#include <vector>

namespace leakline {

namespace {

// Notes of one block with nothing between them that may note losses.
using Run = std::vector<llvm::CallInst*>;

bool is_note_from_outside(const llvm::Instruction& instruction,
                          const llvm::Function* marked) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    return call != nullptr && call->getCalledFunction() == marked;
}

bool may_note(const llvm::Instruction& instruction) {
    auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    return call != nullptr && !call->isInlineAsm() &&
           !llvm::isa<llvm::IntrinsicInst>(call);
}

std::vector<Run> find_runs(llvm::Function& function, const llvm::Function* marked) {
    std::vector<Run> runs;
    for (llvm::BasicBlock& block : function) {
        bool goes_on = false;
        for (llvm::Instruction& instruction : block) {
            if (!is_note_from_outside(instruction, marked)) {
                goes_on = goes_on && !may_note(instruction);
                continue;
            }
            if (!goes_on) {
                runs.emplace_back();
            }
            runs.back().push_back(llvm::cast<llvm::CallInst>(&instruction));
            goes_on = true;
        }
    }
    return runs;
}

// A bound of the module's code that the linker knows. Where it does not, the bound is
// null, and every call comes from outside.
llvm::Constant* code_bound(llvm::Module& module, const char* name) {
    auto* bound = llvm::cast<llvm::GlobalVariable>(
        module.getOrInsertGlobal(name, llvm::Type::getInt8Ty(module.getContext())));
    bound->setLinkage(llvm::GlobalValue::ExternalWeakLinkage);
    bound->setVisibility(llvm::GlobalValue::HiddenVisibility);
    return bound;
}

llvm::Value* is_called_from_outside(llvm::IRBuilder<>& builder) {
    llvm::Module& module = *builder.GetInsertBlock()->getModule();
    auto* caller = builder.CreateIntrinsic(llvm::Intrinsic::returnaddress, {},
                                           {builder.getInt32(0)});
    return builder.CreateOr(
        builder.CreateICmpULT(caller, code_bound(module, "__ehdr_start")),
        builder.CreateICmpUGE(caller, code_bound(module, "_etext")));
}

// The run becomes ordinary at the place of its last note.
void place(const Run& run, llvm::Function* lost) {
    llvm::IRBuilder<> builder(run.back());
    auto* outside = llvm::SplitBlockAndInsertIfThen(
        is_called_from_outside(builder), run.back(), false,
        llvm::MDBuilder(builder.getContext()).createBranchWeights(1, 1000));
    for (llvm::CallInst* note : run) {
        note->moveBefore(outside);
        note->setCalledFunction(lost);
    }
}

// Code that is not optimised would keep what is needed behind a branch in its frame,
// like a reference: there they are noted in any case.
void place_always(const Run& run, llvm::Function* lost) {
    for (llvm::CallInst* note : run) {
        note->setCalledFunction(lost);
    }
}

bool is_inlined(const llvm::CallInst* note) {
    return note->getDebugLoc() && note->getDebugLoc().getInlinedAt() != nullptr;
}

void erase_inlined(llvm::Function* marked) {
    for (llvm::User* user : llvm::make_early_inc_range(marked->users())) {
        auto* note = llvm::cast<llvm::CallInst>(user);
        if (is_inlined(note)) {
            note->eraseFromParent();
        }
    }
}

} // namespace

void place_outside_notes(llvm::Module& module) {
    llvm::Function* marked = module.getFunction(lost_outside_name);
    if (marked == nullptr) {
        return;
    }
    // Where all notes are of this kind, nobody kept the declaration of the others.
    llvm::Function* lost = declare_note(module, lost_name);
    erase_inlined(marked);
    for (llvm::Function& function : module) {
        for (const Run& run : find_runs(function, marked)) {
            if (function.hasOptNone()) {
                place_always(run, lost);
            } else {
                place(run, lost);
            }
        }
    }
    marked->eraseFromParent();
}

} // namespace leakline
