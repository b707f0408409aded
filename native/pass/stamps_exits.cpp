#include "stamps_exits.h"

#include "llvm/IR/CFG.h"
#include "llvm/IR/IntrinsicInst.h"

namespace leakline {

namespace {

constexpr unsigned most_predecessors = 64;

bool is_same_place(llvm::DebugLoc a, llvm::DebugLoc b) {
    return a && b && a.getLine() == b.getLine() && a.getCol() == b.getCol();
}

// True when nothing before the instruction in its block is a statement of its own.
bool is_only_cleanup(const llvm::Instruction* end, llvm::DebugLoc cleanup) {
    for (const llvm::Instruction& before : *end->getParent()) {
        if (&before == end) {
            return true;
        }
        llvm::DebugLoc where = before.getDebugLoc();
        if (!llvm::isa<llvm::PHINode>(before) && where &&
            !is_same_place(where, cleanup)) {
            return false;
        }
    }
    return true;
}

// True when only cleanups stand between the instruction and a `return` statement, which
// comes before the brace that ends the scope.
bool leads_to_return(const llvm::Instruction* end, llvm::DebugLoc cleanup) {
    while (!end->isTerminator()) {
        end = end->getNextNode();
        llvm::DebugLoc where = end->getDebugLoc();
        if (!end->isTerminator() && where && !is_same_place(where, cleanup)) {
            return false;
        }
    }
    llvm::DebugLoc exit = end->getDebugLoc();
    return llvm::isa<llvm::ReturnInst>(end) && exit &&
           (!cleanup || exit.getLine() <= cleanup.getLine());
}

const llvm::Instruction* first_scope_end(const llvm::BasicBlock* block) {
    for (const llvm::Instruction& instruction : *block) {
        auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
        if (call != nullptr &&
            call->getIntrinsicID() == llvm::Intrinsic::lifetime_end) {
            return call;
        }
    }
    return nullptr;
}

bool can_choose(const llvm::BasicBlock* block) {
    return !llvm::pred_empty(block) && llvm::pred_size(block) <= most_predecessors;
}

} // namespace

llvm::Value* Exits::site(llvm::Instruction* end, const void* variable,
                         const MakeSite& make) {
    llvm::BasicBlock* block = end->getParent();
    llvm::DebugLoc cleanup = end->getDebugLoc();
    if (is_only_cleanup(end, cleanup) && can_choose(block)) {
        return site_on_entry(block, variable, cleanup, make);
    }
    return make(leads_to_return(end, cleanup) ? block->getTerminator()->getDebugLoc()
                                              : cleanup);
}

// The choice among the branches into a block, made before its first instruction.
llvm::Value* Exits::site_on_entry(llvm::BasicBlock* block, const void* variable,
                                  llvm::DebugLoc cleanup, const MakeSite& make) {
    auto found = known_.find({block, variable});
    if (found != known_.end()) {
        return found->second;
    }
    auto* choice =
        llvm::PHINode::Create(llvm::PointerType::getUnqual(block->getContext()),
                              llvm::pred_size(block), "leakline.exit", block->begin());
    known_[{block, variable}] = choice;
    llvm::DenseMap<llvm::BasicBlock*, llvm::Value*> sites;
    for (llvm::BasicBlock* from : llvm::predecessors(block)) {
        llvm::Value*& site = sites[from];
        if (site == nullptr) {
            site = site_from(from, variable, cleanup, make);
        }
        choice->addIncoming(site, from);
    }
    return choice;
}

// Cleanups of an inner scope lead on to those of an outer one.
llvm::Value* Exits::site_from(llvm::BasicBlock* block, const void* variable,
                              llvm::DebugLoc cleanup, const MakeSite& make) {
    llvm::Instruction* branch = block->getTerminator();
    if (const llvm::Instruction* end = first_scope_end(block)) {
        llvm::DebugLoc inner = end->getDebugLoc();
        bool leads_on =
            !branch->getDebugLoc() || is_same_place(branch->getDebugLoc(), inner);
        if (leads_on && is_only_cleanup(branch, inner) && can_choose(block)) {
            return site_on_entry(block, variable, inner, make);
        }
    }
    return make(branch->getDebugLoc() ? branch->getDebugLoc() : cleanup);
}

} // namespace leakline
