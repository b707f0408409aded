#include "stamps_unwinding.h"

#include "stamps_slots.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/Transforms/Utils/EscapeEnumerator.h"

#include <vector>

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

// The block that every call which can throw leads to, unless it leads to a cleanup.
llvm::BasicBlock* add_block(llvm::Function& function) {
    llvm::EscapeEnumerator escapes(function, "leakline.unwind", true);
    llvm::BasicBlock* last = nullptr;
    while (llvm::IRBuilder<>* end = escapes.Next()) {
        last = end->GetInsertBlock();
    }
    return last;
}

// Which variables in memory are in their scopes, on all ways to a place.
class Scopes {
  public:
    Scopes(llvm::Function& function, llvm::ArrayRef<Slot> slots) : slots_(slots) {
        for (auto [number, slot] : llvm::enumerate(slots)) {
            for (llvm::IntrinsicInst* start : slot.starts) {
                marks_[start] = {number, true};
            }
            for (llvm::IntrinsicInst* end : slot.ends) {
                marks_[end] = {number, false};
            }
        }
        find(function);
    }

    // At the end of a block; none where that is never run.
    llvm::BitVector behind(llvm::BasicBlock* block) const {
        auto known = before_.find(block);
        if (known == before_.end()) {
            return llvm::BitVector(slots_.size());
        }
        llvm::BitVector inside = known->second;
        for (llvm::Instruction& instruction : *block) {
            auto mark = marks_.find(&instruction);
            if (mark != marks_.end()) {
                inside[mark->second.first] = mark->second.second;
            }
        }
        return inside;
    }

  private:
    void find(llvm::Function& function) {
        llvm::BasicBlock* first = &function.getEntryBlock();
        before_[first] = llvm::BitVector(slots_.size());
        std::vector<llvm::BasicBlock*> pending = {first};
        while (!pending.empty()) {
            llvm::BasicBlock* block = pending.back();
            pending.pop_back();
            llvm::BitVector inside = behind(block);
            for (llvm::BasicBlock* next : llvm::successors(block)) {
                auto [known, is_new] = before_.insert({next, inside});
                llvm::BitVector both = known->second;
                both &= inside;
                if (is_new || both != known->second) {
                    known->second = both;
                    pending.push_back(next);
                }
            }
        }
    }

    llvm::ArrayRef<Slot> slots_;
    llvm::DenseMap<llvm::Instruction*, std::pair<size_t, bool>> marks_; // begins it
    llvm::DenseMap<llvm::BasicBlock*, llvm::BitVector> before_;
};

// A block of the same kind that ends the scopes of some variables.
llvm::BasicBlock* copy_with_ends(llvm::BasicBlock* shared, llvm::ArrayRef<Slot> slots,
                                 const llvm::BitVector& inside) {
    auto* block = llvm::BasicBlock::Create(shared->getContext(), "leakline.unwind",
                                           shared->getParent());
    llvm::Instruction* landing = shared->getLandingPadInst()->clone();
    landing->insertInto(block, block->end());
    llvm::IRBuilder<> builder(block);
    for (unsigned number : inside.set_bits()) {
        const Slot& slot = slots[number];
        auto* bytes = llvm::cast<llvm::ConstantInt>(slot.ends[0]->getArgOperand(0));
        builder.SetCurrentDebugLocation(slot.ends[0]->getDebugLoc());
        builder.CreateLifetimeEnd(slot.place, bytes);
    }
    builder.SetCurrentDebugLocation(shared->getTerminator()->getDebugLoc());
    builder.CreateResume(landing);
    return block;
}

// clang ends scopes only where something else is to be cleaned up.
void end_scopes(llvm::BasicBlock* shared) {
    llvm::Function& function = *shared->getParent();
    std::vector<Slot> slots = find_slots(function).in_memory;
    llvm::erase_if(slots, [](const Slot& slot) {
        return slot.starts.empty() || slot.ends.empty();
    });
    if (slots.empty()) {
        return;
    }
    Scopes scopes(function, slots);
    std::vector<std::pair<llvm::BitVector, llvm::BasicBlock*>> blocks;
    std::vector<llvm::BasicBlock*> from(llvm::pred_begin(shared),
                                        llvm::pred_end(shared));
    for (llvm::BasicBlock* block : from) {
        llvm::BitVector inside = scopes.behind(block);
        if (inside.none()) {
            continue;
        }
        auto known =
            llvm::find_if(blocks, [&](auto& one) { return one.first == inside; });
        if (known == blocks.end()) {
            blocks.emplace_back(inside, copy_with_ends(shared, slots, inside));
            known = std::prev(blocks.end());
        }
        llvm::cast<llvm::InvokeInst>(block->getTerminator())
            ->setUnwindDest(known->second);
    }
    if (llvm::pred_empty(shared)) {
        shared->eraseFromParent();
    }
}

} // namespace

bool add_unwinding(llvm::Function& function) {
    if (function.doesNotThrow() || !may_be_left(function)) {
        return false;
    }
    Slots slots = find_slots(function);
    if (slots.variables.empty() && slots.in_memory.empty()) {
        return false;
    }
    llvm::BasicBlock* shared = add_block(function);
    if (shared != nullptr && shared->isLandingPad()) {
        end_scopes(shared);
    }
    return true;
}

} // namespace leakline
