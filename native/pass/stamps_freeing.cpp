#include "stamps_freeing.h"

#include "stamps_callees.h"
#include "stamps_slots.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"

#include <vector>

namespace leakline {

namespace {

// The variable of a parameter, when that holds nothing else at any time; else null.
const llvm::AllocaInst* place_of(const llvm::Argument& argument) {
    auto* store = argument.hasOneUse()
                      ? llvm::dyn_cast<llvm::StoreInst>(*argument.user_begin())
                      : nullptr;
    auto* place = store != nullptr
                      ? llvm::dyn_cast<llvm::AllocaInst>(store->getPointerOperand())
                      : nullptr;
    bool is_constant =
        place != nullptr && llvm::all_of(place->users(), [&](const llvm::User* user) {
            return user == store || llvm::isa<llvm::LoadInst>(user);
        });
    return is_constant ? place : nullptr;
}

// A block may begin with the number of its objects.
bool is_read_from(llvm::Value* value, const llvm::Value* place) {
    auto* load = llvm::dyn_cast<llvm::LoadInst>(base_of(value));
    return load != nullptr && load->getPointerOperand() == place;
}

// Where a block goes on when the variable is not null.
std::vector<const llvm::BasicBlock*> ways_if_not_null(const llvm::BasicBlock& block,
                                                      const llvm::Value* place) {
    auto* branch = llvm::dyn_cast<llvm::BranchInst>(block.getTerminator());
    auto* test = branch != nullptr && branch->isConditional()
                     ? llvm::dyn_cast<llvm::ICmpInst>(branch->getCondition())
                     : nullptr;
    if (test != nullptr && test->isEquality() &&
        llvm::isa<llvm::ConstantPointerNull>(test->getOperand(1)) &&
        is_read_from(test->getOperand(0), place)) {
        bool is_null_first = test->getPredicate() == llvm::CmpInst::ICMP_EQ;
        return {branch->getSuccessor(is_null_first ? 1 : 0)};
    }
    auto all = llvm::successors(&block);
    return {all.begin(), all.end()};
}

// `delete` of an object whose class only the run can tell: clang reads the variable
// once, for the test whether it is null and for the call, as no other statement does.
bool deletes_virtually(const llvm::CallBase& call) {
    const llvm::BasicBlock* before = call.getParent()->getSinglePredecessor();
    auto* branch = before != nullptr
                       ? llvm::dyn_cast<llvm::BranchInst>(before->getTerminator())
                       : nullptr;
    auto* test = branch != nullptr && branch->isConditional()
                     ? llvm::dyn_cast<llvm::ICmpInst>(branch->getCondition())
                     : nullptr;
    auto* destructor = llvm::dyn_cast<llvm::LoadInst>(call.getCalledOperand());
    if (test == nullptr || destructor == nullptr || call.arg_size() != 1 ||
        !call.getType()->isVoidTy() || branch->getSuccessor(1) != call.getParent()) {
        return false;
    }
    const llvm::Value* object = call.getArgOperand(0);
    auto* table = llvm::dyn_cast<llvm::LoadInst>(base_of(destructor->getOperand(0)));
    return test->getPredicate() == llvm::CmpInst::ICMP_EQ &&
           llvm::isa<llvm::ConstantPointerNull>(test->getOperand(1)) &&
           test->getOperand(0) == object && table != nullptr &&
           table->getPointerOperand() == object && llvm::isa<llvm::LoadInst>(object);
}

} // namespace

bool frees_block(const llvm::CallBase& call) {
    static const llvm::StringSet<> names = {
        "free", "cfree", "fclose", "pclose", "closedir", "freeaddrinfo", "freeifaddrs"};
    const llvm::Function* callee = callee_of(call);
    if (callee == nullptr) {
        return deletes_virtually(call);
    }
    llvm::StringRef name = callee->getName();
    return names.contains(name) || name.starts_with("_ZdlP") ||
           name.starts_with("_ZdaP") || is_deleting_destructor(name);
}

// Starts from what the library frees.
Freeing::Freeing(llvm::Module& module) {
    bool changed = true;
    while (changed) {
        changed = false;
        for (llvm::Function& function : module) {
            for (llvm::Argument& argument : function.args()) {
                std::pair key(&function, argument.getArgNo());
                if (!function.isDeclaration() && !function.isInterposable() &&
                    !known_.contains(key) && argument.getType()->isPointerTy() &&
                    body_frees(argument)) {
                    known_.insert(key);
                    changed = true;
                }
            }
        }
    }
}

bool Freeing::frees(const llvm::CallBase& call, unsigned argument) const {
    return (argument == 0 && frees_block(call)) ||
           known_.contains(std::pair(callee_of(call), argument));
}

// No way to an exit of the function may lead around the blocks that free.
bool Freeing::body_frees(llvm::Argument& argument) const {
    const llvm::AllocaInst* place = place_of(argument);
    if (place == nullptr) {
        return false;
    }
    const llvm::BasicBlock* entry = &argument.getParent()->getEntryBlock();
    llvm::SmallPtrSet<const llvm::BasicBlock*, 16> seen = {entry};
    std::vector<const llvm::BasicBlock*> pending = {entry};
    while (!pending.empty()) {
        const llvm::BasicBlock* block = pending.back();
        pending.pop_back();
        if (block_frees(*block, place)) {
            continue;
        }
        if (llvm::isa<llvm::ReturnInst, llvm::ResumeInst>(block->getTerminator())) {
            return false;
        }
        for (const llvm::BasicBlock* next : ways_if_not_null(*block, place)) {
            if (seen.insert(next).second) {
                pending.push_back(next);
            }
        }
    }
    return true;
}

bool Freeing::block_frees(const llvm::BasicBlock& block,
                          const llvm::Value* place) const {
    return llvm::any_of(block, [&](const llvm::Instruction& instruction) {
        auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
        return call != nullptr && llvm::any_of(call->args(), [&](const llvm::Use& use) {
                   return is_read_from(use, place) &&
                          frees(*call, call->getArgOperandNo(&use));
               });
    });
}

} // namespace leakline
