#include "stamps_changes.h"

#include "stamps_callees.h"
#include "stamps_temporaries.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/IntrinsicInst.h"

namespace leakline {

namespace {

// Longer ways are not followed.
constexpr unsigned most_blocks_between = 64;

bool is_end_of_scope(const llvm::Instruction& instruction) {
    auto* known = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
    return known != nullptr && known->getIntrinsicID() == llvm::Intrinsic::lifetime_end;
}

bool may_allocate(const llvm::Instruction& instruction) {
    static const llvm::StringSet<> names = {"free",   "strlen", "strcmp",
                                            "memcmp", "strchr", "__errno_location"};
    auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    if (call == nullptr || llvm::isa<llvm::IntrinsicInst>(call) ||
        call->isInlineAsm()) {
        return false;
    }
    llvm::StringRef name = callee_name(*call);
    return !names.contains(name) && !name.starts_with("_ZdlP") &&
           !name.starts_with("_ZdaP");
}

} // namespace

std::optional<Place> place_at(const llvm::DataLayout& layout, llvm::Value* address) {
    llvm::APInt offset(layout.getIndexTypeSizeInBits(address->getType()), 0);
    auto* variable = llvm::dyn_cast<llvm::AllocaInst>(
        address->stripAndAccumulateConstantOffsets(layout, offset, true));
    if (variable == nullptr || offset.isNegative()) {
        return std::nullopt;
    }
    return Place(variable, offset.getZExtValue());
}

void Changes::add(llvm::Value* address) {
    if (known_.insert(address).second) {
        for (llvm::User* user : address->users()) {
            add_use(llvm::cast<llvm::Instruction>(user), address);
        }
    }
}

void Changes::add_use(llvm::Instruction* user, llvm::Value* address) {
    if (llvm::isa<llvm::GetElementPtrInst, llvm::PHINode, llvm::SelectInst>(user)) {
        add(user);
    } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(user)) {
        are_known_ &= store->getValueOperand() != address;
        if (may_change(*store)) {
            all_.insert(store);
        }
    } else if (auto* call = llvm::dyn_cast<llvm::CallBase>(user)) {
        if (!is_end_of_scope(*call)) {
            all_.insert(call);
        }
    } else {
        are_known_ &= llvm::isa<llvm::LoadInst, llvm::CmpInst>(user);
    }
}

bool Changes::may_change(llvm::StoreInst& store) const {
    const llvm::DataLayout& layout = store.getModule()->getDataLayout();
    auto target = place_at(layout, store.getPointerOperand());
    uint64_t bytes = layout.getTypeStoreSize(store.getValueOperand()->getType());
    return !target || (target->second < slot_.second + sizeof(uint64_t) &&
                       slot_.second < target->second + bytes);
}

bool Changes::is_in(llvm::BasicBlock::iterator from,
                    llvm::BasicBlock::iterator to) const {
    return llvm::any_of(llvm::make_range(from, to),
                        [&](llvm::Instruction& one) { return all_.contains(&one); });
}

// The load comes before on all ways, since its value is used there.
bool Changes::are_none_between(llvm::LoadInst* load, llvm::Instruction* end) const {
    llvm::BasicBlock* first = load->getParent();
    llvm::BasicBlock* last = end->getParent();
    if (first == last) {
        return !is_in(load->getIterator(), end->getIterator());
    }
    if (is_in(load->getIterator(), first->end()) ||
        is_in(last->begin(), end->getIterator())) {
        return false;
    }
    llvm::SmallPtrSet<llvm::BasicBlock*, 16> seen = {first};
    llvm::SmallVector<llvm::BasicBlock*> pending(llvm::predecessors(last));
    while (!pending.empty()) {
        llvm::BasicBlock* block = pending.pop_back_val();
        if (!seen.insert(block).second) {
            continue;
        }
        if (seen.size() > most_blocks_between || is_in(block->begin(), block->end())) {
            return false;
        }
        llvm::append_range(pending, llvm::predecessors(block));
    }
    return true;
}

bool Changes::are_behind_allocations(llvm::Instruction* at) const {
    llvm::Instruction* next = next_after(at);
    if (next == nullptr) {
        return true;
    }
    llvm::SmallPtrSet<llvm::BasicBlock*, 16> seen;
    llvm::SmallVector<llvm::BasicBlock::iterator> pending = {next->getIterator()};
    while (!pending.empty()) {
        llvm::BasicBlock::iterator from = pending.pop_back_val();
        llvm::BasicBlock* block = from->getParent();
        auto last = std::find_if(from, block->end(), [&](llvm::Instruction& one) {
            return all_.contains(&one) || ends_scope(one) || may_allocate(one);
        });
        if (last != block->end()) {
            if (!all_.contains(&*last) && may_allocate(*last)) {
                return true;
            }
            continue;
        }
        for (llvm::BasicBlock* successor : llvm::successors(block)) {
            if (seen.insert(successor).second) {
                pending.push_back(successor->begin());
            }
        }
        if (seen.size() > most_blocks_between) {
            return true;
        }
    }
    return false;
}

bool Changes::ends_scope(const llvm::Instruction& instruction) const {
    return is_end_of_scope(instruction) && instruction.getOperand(1) == slot_.first;
}

} // namespace leakline
