#include "stamps_passing.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"

namespace leakline {

namespace {

using Uses = llvm::SmallVector<llvm::Instruction*>;

// Those that may run.
void add_uses(llvm::Value* address, const llvm::DominatorTree& dominators, Uses& uses) {
    for (llvm::User* user : address->users()) {
        auto* instruction = llvm::cast<llvm::Instruction>(user);
        if (llvm::isa<llvm::GetElementPtrInst>(instruction)) {
            add_uses(instruction, dominators, uses);
        } else if (dominators.isReachableFromEntry(instruction->getParent())) {
            uses.push_back(instruction);
        }
    }
}

bool is_given_away(const Uses& uses) {
    return llvm::any_of(uses, [](llvm::Instruction* use) {
        return llvm::isa<llvm::CallBase>(use) && !llvm::isa<llvm::IntrinsicInst>(use);
    });
}

// Behind it, whatever way is taken, stand all uses of one turn.
llvm::Instruction* place_before(const Uses& uses,
                                const llvm::DominatorTree& dominators) {
    llvm::BasicBlock* block = uses.front()->getParent();
    for (llvm::Instruction* use : uses) {
        block = dominators.findNearestCommonDominator(block, use->getParent());
    }
    auto behind_phis = llvm::make_range(block->getFirstInsertionPt(), block->end());
    auto first = llvm::find_if(behind_phis, [&](llvm::Instruction& instruction) {
        return llvm::is_contained(uses, &instruction);
    });
    return first != block->end() ? &*first : block->getTerminator();
}

} // namespace

void clear_passing(const Slots& slots, llvm::Function& function) {
    if (slots.passing.empty() || function.isPresplitCoroutine()) {
        return;
    }
    llvm::DominatorTree dominators(function);
    for (llvm::Instruction& instruction : function.getEntryBlock()) {
        auto* place = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
        if (place == nullptr || slots.passing.count(place) == 0 ||
            place->getAllocatedType()->isSingleValueType()) {
            continue;
        }
        Uses uses;
        add_uses(place, dominators, uses);
        if (is_given_away(uses)) {
            llvm::IRBuilder<> builder(place_before(uses, dominators));
            builder.CreateMemSet(
                place, builder.getInt8(0),
                function.getDataLayout().getTypeAllocSize(place->getAllocatedType()),
                place->getAlign());
        }
    }
}

} // namespace leakline
