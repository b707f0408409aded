#include "stamps_released.h"

#include "stamps_asking.h"
#include "stamps_temporaries.h"

#include "llvm/IR/InstIterator.h"

#include <optional>

namespace leakline {

namespace {

constexpr size_t most_members_asked_about = 16;

// The slot that was read for an argument and still has the same value at the call.
std::optional<Place> slot_of(llvm::CallBase& call, llvm::Value* argument) {
    auto* load = llvm::dyn_cast<llvm::LoadInst>(base_of(argument));
    std::optional<Place> slot =
        load != nullptr
            ? place_at(call.getModule()->getDataLayout(), load->getPointerOperand())
            : std::nullopt;
    if (!slot) {
        return std::nullopt;
    }
    Changes changes(*slot);
    bool is_same = changes.are_known() && changes.are_none_between(load, &call);
    return is_same ? slot : std::nullopt;
}

bool may_lose_blocks(Place slot, const Slots& slots) {
    return slots.number.count(slot.first) != 0 || slots.is_in_memory(slot.first);
}

// The slot that was read for an argument.
void add_possible(llvm::CallBase& call, llvm::Value* argument, Slots& slots) {
    std::optional<Place> slot = slot_of(call, argument);
    if (slot && may_lose_blocks(*slot, slots)) {
        slots.possible_releases[&call].push_back(*slot);
    }
}

// Those in an aggregate whose address is the argument.
void add_possible_members(llvm::CallBase& call, unsigned argument,
                          const PossibleFreeing& possible, Slots& slots) {
    for (const Slot& slot : slots.in_memory) {
        if (slot.place != call.getArgOperand(argument) ||
            slot.offsets.size() > most_members_asked_about) {
            continue;
        }
        for (uint64_t offset : slot.offsets) {
            if (possible.may_free_member(call, argument,
                                         static_cast<int64_t>(offset)) &&
                Changes({slot.place, 0}).are_known()) {
                slots.possible_releases[&call].emplace_back(slot.place, offset);
            }
        }
    }
}

} // namespace

void find_releases(llvm::Function& function, const Losing& losing, Slots& slots) {
    const PossibleFreeing& possible = losing.possible_freeing();
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
        auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
        if (call == nullptr) {
            continue;
        }
        for (const llvm::Use& use : call->args()) {
            unsigned argument = call->getArgOperandNo(&use);
            if (losing.freeing().frees(*call, argument)) {
                if (std::optional<Place> slot = slot_of(*call, use)) {
                    slots.releases[call].push_back(*slot);
                }
                continue;
            }
            if (next_after(call) == nullptr) {
                continue;
            }
            if (possible.may_free(*call, argument)) {
                add_possible(*call, use, slots);
            }
            add_possible_members(*call, argument, possible, slots);
        }
    }
}

// What a coroutine keeps while it waits would have to be kept with it.
Released::Released(llvm::Function& function, const Slots& slots, const Drops& drops) {
    if (function.isPresplitCoroutine()) {
        return;
    }
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
        auto found = slots.releases.find(&instruction);
        if (found == slots.releases.end()) {
            continue;
        }
        for (Place slot : found->second) {
            if (slots.is_in_memory(slot.first)) {
                release(slot, &instruction);
            }
        }
    }
    for (const SoleChange& change : drops.changes) {
        if (change.sole == Sole::freed) {
            release({slots.variables[change.variable].place, 0}, change.at);
        }
    }
    // A call that is given the address of a slot changes it: that comes first.
    for (auto& [call, asked] : slots.possible_releases) {
        for (Place slot : asked) {
            ask(slot, call);
        }
    }
    llvm::IRBuilder<> start(&*function.getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
    for (auto [slot, flag] : flags_) {
        start.CreateStore(start.getFalse(), flag);
        follow(slot, flag);
    }
}

llvm::AllocaInst* Released::add_flag(Place slot) {
    llvm::AllocaInst*& flag = flags_[slot];
    if (flag == nullptr) {
        llvm::IRBuilder<> builder(slot.first);
        flag = builder.CreateAlloca(builder.getInt1Ty(), nullptr, "leakline.gone");
    }
    return flag;
}

void Released::release(Place slot, llvm::Instruction* at) {
    if (!Changes(slot).are_behind_allocations(at)) {
        return;
    }
    llvm::AllocaInst* flag = add_flag(slot);
    llvm::IRBuilder<> builder(at);
    builder.CreateStore(builder.getTrue(), flag);
}

void Released::ask(Place slot, llvm::CallBase* call) {
    if (!Changes(slot).are_behind_allocations(call)) {
        return;
    }
    llvm::IRBuilder<> builder(next_after(call));
    auto* address = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), slot.first,
                                                       slot.second);
    auto* value = builder.CreateAlignedLoad(
        builder.getInt64Ty(), address,
        llvm::commonAlignment(slot.first->getAlign(), slot.second));
    llvm::Function* asking = declare_asking(*call->getModule());
    builder.CreateStore(builder.CreateCall(asking, {builder.CreateFreeze(value)}),
                        add_flag(slot));
}

// Where a change has no place behind it that it alone leads to, the place before it
// does as well: until then nobody asks.
void Released::follow(Place slot, llvm::AllocaInst* flag) {
    Changes changes(slot);
    for (llvm::Instruction* change : changes.all()) {
        llvm::Instruction* next = next_after(change);
        llvm::IRBuilder<> builder(next != nullptr ? next : change);
        builder.CreateStore(builder.getFalse(), flag);
    }
}

llvm::Value* Released::is_gone(llvm::IRBuilder<>& builder, llvm::Value* address) const {
    const llvm::DataLayout& layout =
        builder.GetInsertBlock()->getModule()->getDataLayout();
    std::optional<Place> slot = place_at(layout, address);
    auto flag = slot ? flags_.find(*slot) : flags_.end();
    return flag == flags_.end() ? nullptr
                                : builder.CreateLoad(builder.getInt1Ty(), flag->second);
}

} // namespace leakline
