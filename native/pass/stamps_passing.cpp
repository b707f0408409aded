#include "stamps_passing.h"

#include "stamps_callees.h"
#include "stamps_losing.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"

namespace leakline {

namespace {

// Longer arrays of bytes are mostly texts, and to clear them takes longer.
constexpr uint64_t most_bytes_without_type = 256;

// What is done with the room, in code that may run.
struct Uses {
    llvm::SmallVector<llvm::Instruction*> all;
    llvm::SmallVector<llvm::IntrinsicInst*> starts; // of its scope
    bool is_given_away = false;                     // to code that may fill it
};

bool may_fill(const llvm::CallBase& call) {
    const llvm::Function* callee = callee_of(call);
    return !call.isInlineAsm() && (callee == nullptr || !callee->isDeclaration() ||
                                   !is_harmless_library_function(callee->getName()));
}

void add_uses(llvm::Value* address, const llvm::DominatorTree& dominators, Uses& uses) {
    for (llvm::User* user : address->users()) {
        auto* instruction = llvm::cast<llvm::Instruction>(user);
        auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(instruction);
        if (!dominators.isReachableFromEntry(instruction->getParent())) {
            continue;
        }
        if (llvm::isa<llvm::GetElementPtrInst>(instruction)) {
            add_uses(instruction, dominators, uses);
        } else if (intrinsic != nullptr && intrinsic->isLifetimeStartOrEnd()) {
            if (intrinsic->getIntrinsicID() == llvm::Intrinsic::lifetime_start) {
                uses.starts.push_back(intrinsic);
            }
        } else {
            auto* call = llvm::dyn_cast<llvm::CallBase>(instruction);
            uses.all.push_back(instruction);
            // Of an array the elements are made in a loop.
            uses.is_given_away |=
                llvm::isa<llvm::PHINode>(instruction) ||
                (call != nullptr && intrinsic == nullptr && may_fill(*call));
        }
    }
}

// Behind it, whatever way is taken, stand all uses of one turn.
llvm::Instruction* place_before(const Uses& uses,
                                const llvm::DominatorTree& dominators) {
    llvm::BasicBlock* block = uses.all.front()->getParent();
    for (llvm::Instruction* use : uses.all) {
        block = dominators.findNearestCommonDominator(block, use->getParent());
    }
    auto behind_phis = llvm::make_range(block->getFirstInsertionPt(), block->end());
    auto first = llvm::find_if(behind_phis, [&](llvm::Instruction& instruction) {
        return llvm::is_contained(uses.all, &instruction);
    });
    return first != block->end() ? &*first : block->getTerminator();
}

void clear_before(llvm::AllocaInst* place, llvm::Instruction* before) {
    llvm::IRBuilder<> builder(before);
    uint64_t bytes =
        place->getModule()->getDataLayout().getTypeAllocSize(place->getAllocatedType());
    builder.CreateMemSet(place, builder.getInt8(0), bytes, place->getAlign());
}

// Variables are cleared where their scopes begin.
bool is_room(llvm::AllocaInst* place, const Slots& slots) {
    if (slots.passing.count(place) != 0) {
        return !place->getAllocatedType()->isSingleValueType();
    }
    uint64_t bytes =
        place->getModule()->getDataLayout().getTypeAllocSize(place->getAllocatedType());
    return slots.number.count(place) == 0 && !slots.is_in_memory(place) &&
           place->isStaticAlloca() && place->getAlign() >= sizeof(uint64_t) &&
           bytes >= sizeof(uint64_t) && bytes <= most_bytes_without_type;
}

} // namespace

void clear_passing(const Slots& slots, llvm::Function& function) {
    std::vector<llvm::AllocaInst*> rooms;
    for (llvm::Instruction& instruction : function.getEntryBlock()) {
        auto* place = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
        if (place != nullptr && is_room(place, slots)) {
            rooms.push_back(place);
        }
    }
    if (rooms.empty() || function.isPresplitCoroutine()) {
        return;
    }
    llvm::DominatorTree dominators(function);
    for (llvm::AllocaInst* place : rooms) {
        Uses uses;
        add_uses(place, dominators, uses);
        if (!uses.is_given_away) {
            continue;
        }
        for (llvm::IntrinsicInst* start : uses.starts) {
            clear_before(place, start->getNextNode());
        }
        if (uses.starts.empty()) {
            clear_before(place, place_before(uses, dominators));
        }
    }
}

} // namespace leakline
