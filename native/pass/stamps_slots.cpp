#include "stamps_slots.h"

#include "stamps_names.h"
#include "stamps_unions.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"

namespace leakline {

namespace {

// An aggregate with more of them is scanned word by word anyway.
constexpr size_t most_offsets = 64;

void add_offsets(llvm::Type* type, const llvm::DataLayout& layout, uint64_t at,
                 std::vector<uint64_t>& offsets) {
    if (offsets.size() > most_offsets) {
        return;
    }
    if (type->isPointerTy()) {
        offsets.push_back(at);
    } else if (auto* record = llvm::dyn_cast<llvm::StructType>(type)) {
        uint64_t bytes = layout.getTypeAllocSize(record);
        if (is_union(record)) {
            for (uint64_t word = 0; word + 8 <= bytes; word += 8) {
                offsets.push_back(at + word);
            }
            return;
        }
        const llvm::StructLayout* members = layout.getStructLayout(record);
        for (unsigned i = 0; i < record->getNumElements(); i++) {
            add_offsets(record->getElementType(i), layout,
                        at + members->getElementOffset(i), offsets);
        }
    } else if (auto* array = llvm::dyn_cast<llvm::ArrayType>(type)) {
        std::vector<uint64_t> inner;
        add_offsets(array->getElementType(), layout, 0, inner);
        uint64_t bytes = layout.getTypeAllocSize(array->getElementType());
        uint64_t count = inner.empty() ? 0 : array->getNumElements();
        for (uint64_t i = 0; i < count && offsets.size() <= most_offsets; i++) {
            for (uint64_t offset : inner) {
                offsets.push_back(at + i * bytes + offset);
            }
        }
    }
}

bool is_only_named(llvm::AllocaInst* place) {
    llvm::Type* type = place->getAllocatedType();
    for (llvm::User* user : place->users()) {
        if (auto* load = llvm::dyn_cast<llvm::LoadInst>(user)) {
            if (load->isVolatile() || load->isAtomic() || load->getType() != type) {
                return false;
            }
        } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(user)) {
            if (store->isVolatile() || store->isAtomic() ||
                store->getValueOperand() == place ||
                store->getValueOperand()->getType() != type) {
                return false;
            }
        } else if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(user)) {
            if (!call->isLifetimeStartOrEnd()) {
                return false;
            }
        } else {
            return false;
        }
    }
    return true;
}

bool holds_number(llvm::AllocaInst* place) {
    llvm::DILocalVariable* variable = variable_of(place);
    return variable != nullptr && place->getAllocatedType()->isIntegerTy(64) &&
           is_pointer_sized_number(variable);
}

bool is_returned(llvm::AllocaInst* place) {
    for (llvm::User* user : place->users()) {
        if (llvm::isa<llvm::LoadInst>(user)) {
            for (llvm::User* reader : user->users()) {
                if (llvm::isa<llvm::ReturnInst>(reader)) {
                    return true;
                }
            }
        }
    }
    return false;
}

// A coroutine goes on with copies of its arguments.
bool is_argument_of_coroutine(llvm::AllocaInst* place) {
    return place->getFunction()->isPresplitCoroutine() &&
           llvm::any_of(place->users(), [](llvm::User* user) {
               auto* store = llvm::dyn_cast<llvm::StoreInst>(user);
               return store != nullptr &&
                      llvm::isa<llvm::Argument>(store->getValueOperand());
           });
}

void find_scopes(llvm::AllocaInst* place, Slot& slot) {
    for (llvm::User* user : place->users()) {
        auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(user);
        if (call == nullptr || !call->isLifetimeStartOrEnd()) {
            continue;
        }
        if (call->getIntrinsicID() == llvm::Intrinsic::lifetime_start) {
            slot.starts.push_back(call);
        } else {
            slot.ends.push_back(call);
        }
    }
}

} // namespace

std::vector<uint64_t> pointer_offsets(llvm::Type* type,
                                      const llvm::DataLayout& layout) {
    std::vector<uint64_t> offsets;
    add_offsets(type, layout, 0, offsets);
    return offsets;
}

llvm::Value* base_of(llvm::Value* address) {
    while (auto* step = llvm::dyn_cast<llvm::GEPOperator>(address)) {
        address = step->getPointerOperand();
    }
    return address;
}

bool Slots::is_in_memory(const llvm::Value* place) const {
    for (const Slot& slot : in_memory) {
        if (slot.place == place) {
            return true;
        }
    }
    return false;
}

Slots find_slots(llvm::Function& function) {
    Slots slots;
    const llvm::DataLayout& layout = function.getParent()->getDataLayout();
    for (llvm::Instruction& instruction : function.getEntryBlock()) {
        auto* place = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
        if (place == nullptr || !place->isStaticAlloca()) {
            continue;
        }
        Slot slot = {place, pointer_offsets(place->getAllocatedType(), layout), {}, {}};
        if (holds_number(place)) {
            slot.offsets = {0};
        }
        if (slot.offsets.empty()) {
            continue;
        }
        find_scopes(place, slot);
        bool is_scalar =
            place->getAllocatedType()->isPointerTy() || holds_number(place);
        bool has_name = variable_of(place) != nullptr;
        if (is_argument_of_coroutine(place)) {
            slots.passing[place] = false;
        } else if (!has_name && (is_scalar || slot.ends.empty())) {
            slots.passing[place] = is_returned(place);
        } else if (is_scalar && is_only_named(place)) {
            slots.number[place] = static_cast<unsigned>(slots.variables.size());
            slots.variables.push_back(std::move(slot));
        } else {
            slots.in_memory.push_back(std::move(slot));
        }
    }
    return slots;
}

} // namespace leakline
