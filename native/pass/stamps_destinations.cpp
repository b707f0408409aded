#include "stamps_destinations.h"

#include "stamps_names.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Constants.h"

namespace leakline {

namespace {

const llvm::StoreInst* store_to(const llvm::Instruction& instruction,
                                const llvm::Value* place) {
    auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
    return store != nullptr && store->getPointerOperand() == place ? store : nullptr;
}

bool reads(const llvm::Instruction& instruction, const llvm::Value* place) {
    auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
    return load != nullptr && load->getPointerOperand() == place;
}

// True when the block reads the number before it stores one.
bool reads_first(const llvm::BasicBlock& block, const llvm::Value* place) {
    for (const llvm::Instruction& instruction : block) {
        if (store_to(instruction, place) != nullptr) {
            return false;
        }
        if (reads(instruction, place)) {
            return true;
        }
    }
    return false;
}

Destination last_stored(const llvm::BasicBlock& block, const llvm::Value* place,
                        Destination before) {
    for (const llvm::Instruction& instruction : llvm::reverse(block)) {
        if (const llvm::StoreInst* store = store_to(instruction, place)) {
            return llvm::cast<llvm::ConstantInt>(store->getValueOperand())
                ->getSExtValue();
        }
    }
    return before;
}

// The switch by the number that the block has when it ends; null when it has none.
llvm::SwitchInst* switch_by(const llvm::Value* place, llvm::BasicBlock& block) {
    auto* choice = llvm::dyn_cast<llvm::SwitchInst>(block.getTerminator());
    auto* number = choice != nullptr
                       ? llvm::dyn_cast<llvm::LoadInst>(choice->getCondition())
                       : nullptr;
    bool is_last =
        number != nullptr && number->getParent() == &block && reads(*number, place) &&
        llvm::none_of(block, [&](const llvm::Instruction& one) {
            return store_to(one, place) != nullptr && number->comesBefore(&one);
        });
    return is_last ? choice : nullptr;
}

} // namespace

bool holds_destinations(const llvm::Value* place) {
    auto* slot = llvm::dyn_cast<llvm::AllocaInst>(place);
    if (slot == nullptr || !slot->getAllocatedType()->isIntegerTy(32) ||
        variable_of(const_cast<llvm::AllocaInst*>(slot)) != nullptr) {
        return false;
    }
    return llvm::all_of(slot->users(), [](const llvm::User* user) {
        if (llvm::isa<llvm::LoadInst>(user)) {
            return llvm::all_of(user->users(), [](const llvm::User* reader) {
                return llvm::isa<llvm::SwitchInst>(reader);
            });
        }
        auto* store = llvm::dyn_cast<llvm::StoreInst>(user);
        return store != nullptr &&
               llvm::isa<llvm::ConstantInt>(store->getValueOperand());
    });
}

// clang has one such variable in a function.
Destinations::Destinations(llvm::Function& function) {
    for (llvm::Instruction& instruction : function.getEntryBlock()) {
        if (!instruction.use_empty() && holds_destinations(&instruction)) {
            place_ = &instruction;
        }
    }
    if (place_ != nullptr) {
        find_awaiting(function);
    }
}

void Destinations::find_awaiting(llvm::Function& function) {
    std::vector<const llvm::BasicBlock*> pending;
    for (const llvm::BasicBlock& block : function) {
        if (reads_first(block, place_)) {
            awaiting_.insert(&block);
            pending.push_back(&block);
        }
    }
    while (!pending.empty()) {
        const llvm::BasicBlock* block = pending.back();
        pending.pop_back();
        for (const llvm::BasicBlock* before : llvm::predecessors(block)) {
            bool stores = llvm::any_of(*before, [&](const llvm::Instruction& one) {
                return store_to(one, place_) != nullptr;
            });
            if (!stores && awaiting_.insert(before).second) {
                pending.push_back(before);
            }
        }
    }
}

std::vector<std::pair<llvm::BasicBlock*, Destination>>
Destinations::next(llvm::BasicBlock& block, Destination destination) const {
    std::vector<std::pair<llvm::BasicBlock*, Destination>> found;
    destination = last_stored(block, place_, destination);
    auto add = [&](llvm::BasicBlock* next) {
        found.emplace_back(next,
                           awaiting_.contains(next) ? destination : any_destination);
    };
    llvm::SwitchInst* choice = switch_by(place_, block);
    if (choice != nullptr && destination != any_destination) {
        auto* type = llvm::cast<llvm::IntegerType>(choice->getCondition()->getType());
        add(choice->findCaseValue(llvm::ConstantInt::getSigned(type, destination))
                ->getCaseSuccessor());
    } else {
        llvm::for_each(llvm::successors(&block), add);
    }
    return found;
}

} // namespace leakline
