#include "stamps_names.h"

#include "stamps_debug.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"

#include <optional>

namespace leakline {

namespace {

// An expression of the source that designates some memory, and the type of what lies
// there as far as it is known.
struct Designator {
    std::string text;
    const llvm::DIType* type = nullptr;
    bool is_pointee = false; // `text` is a pointer to the memory
};

constexpr unsigned deepest = 8;

const llvm::DIType* without_qualifiers(const llvm::DIType* type) {
    while (auto* derived = llvm::dyn_cast_or_null<llvm::DIDerivedType>(type)) {
        switch (derived->getTag()) {
        case llvm::dwarf::DW_TAG_typedef:
        case llvm::dwarf::DW_TAG_const_type:
        case llvm::dwarf::DW_TAG_volatile_type:
        case llvm::dwarf::DW_TAG_restrict_type:
        case llvm::dwarf::DW_TAG_atomic_type:
            type = derived->getBaseType();
            break;
        default:
            return type;
        }
    }
    return type;
}

const llvm::DIType* pointee(const llvm::DIType* type) {
    auto* derived =
        llvm::dyn_cast_or_null<llvm::DIDerivedType>(without_qualifiers(type));
    return derived != nullptr ? derived->getBaseType() : nullptr;
}

const llvm::DICompositeType* composite(const llvm::DIType* type) {
    return llvm::dyn_cast_or_null<llvm::DICompositeType>(without_qualifiers(type));
}

bool is_array(const llvm::DIType* type) {
    const llvm::DICompositeType* known = composite(type);
    return known != nullptr && known->getTag() == llvm::dwarf::DW_TAG_array_type;
}

std::string element(const Designator& base, const std::string& index) {
    return base.text + "[" + index + "]";
}

bool is_pointer(const llvm::DIType* type) {
    const llvm::DIType* known = without_qualifiers(type);
    return known != nullptr && known->getTag() == llvm::dwarf::DW_TAG_pointer_type;
}

// What lies at an offset in the memory that a designator means; of the members of a
// union, a pointer.
Designator part_at(Designator base, uint64_t offset, unsigned depth = 0) {
    const llvm::DICompositeType* type = composite(base.type);
    if (type == nullptr || depth > deepest) {
        return base;
    }
    if (is_array(type)) {
        const llvm::DIType* of = type->getBaseType();
        uint64_t bytes = of != nullptr ? of->getSizeInBits() / 8 : 0;
        if (bytes == 0) {
            return base;
        }
        Designator inner = {element(base, std::to_string(offset / bytes)), of};
        return part_at(inner, offset % bytes, depth + 1);
    }
    std::optional<Designator> found; // the first member of a union
    for (auto* node : type->getElements()) {
        auto* member = llvm::dyn_cast<llvm::DIDerivedType>(node);
        if (member == nullptr || member->isStaticMember()) {
            continue;
        }
        uint64_t start = member->getOffsetInBits() / 8;
        uint64_t bytes = member->getSizeInBits() / 8;
        if (offset < start || offset >= start + (bytes != 0 ? bytes : 1)) {
            continue;
        }
        const char* separator = base.is_pointee ? "->" : ".";
        Designator inner = {base.text, member->getBaseType(), base.is_pointee};
        if (!member->getName().empty() &&
            member->getTag() == llvm::dwarf::DW_TAG_member) {
            inner = {base.text + separator + member->getName().str(),
                     member->getBaseType()};
        }
        Designator part = part_at(inner, offset - start, depth + 1);
        if (type->getTag() != llvm::dwarf::DW_TAG_union_type || is_pointer(part.type)) {
            return part;
        }
        found = found ? found : part;
    }
    return found.value_or(base);
}

Designator designate(llvm::Value* address, unsigned depth);

Designator designate_global(llvm::GlobalVariable* global) {
    llvm::SmallVector<llvm::DIGlobalVariableExpression*> known;
    global->getDebugInfo(known);
    if (known.empty()) {
        return {global->getName().str()};
    }
    llvm::DIGlobalVariable* variable = known.front()->getVariable();
    return {variable->getName().str(), variable->getType()};
}

std::string index_text(llvm::Value* index) {
    if (auto* number = llvm::dyn_cast<llvm::ConstantInt>(index)) {
        return std::to_string(number->getSExtValue());
    }
    while (auto* cast = llvm::dyn_cast<llvm::CastInst>(index)) {
        index = cast->getOperand(0);
    }
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(index)) {
        if (auto* slot = llvm::dyn_cast<llvm::AllocaInst>(load->getPointerOperand())) {
            if (llvm::DILocalVariable* variable = variable_of(slot)) {
                return variable->getName().str();
            }
        }
    }
    return {};
}

// An element whose number is a value of the program.
Designator designate_element(const Designator& base, llvm::GEPOperator* step) {
    std::string index = index_text(step->getOperand(step->getNumOperands() - 1));
    const llvm::DIType* type = base.type;
    if (is_array(type)) {
        type = composite(type)->getBaseType();
    }
    return {element(base, index), type};
}

Designator designate_step(llvm::GEPOperator* step, unsigned depth) {
    Designator base = designate(step->getPointerOperand(), depth + 1);
    if (base.text.empty()) {
        return base;
    }
    const llvm::DataLayout& layout =
        llvm::cast<llvm::Instruction>(step)->getModule()->getDataLayout();
    llvm::APInt offset(64, 0);
    if (!step->accumulateConstantOffset(layout, offset)) {
        return designate_element(base, step);
    }
    if (base.is_pointee && composite(base.type) == nullptr) {
        return designate_element(base, step);
    }
    return part_at(base, offset.getZExtValue());
}

Designator designate(llvm::Value* address, unsigned depth) {
    if (depth > deepest) {
        return {};
    }
    if (auto* slot = llvm::dyn_cast<llvm::AllocaInst>(address)) {
        if (llvm::DILocalVariable* variable = variable_of(slot)) {
            return {variable->getName().str(), variable->getType()};
        }
        return {};
    }
    if (auto* global = llvm::dyn_cast<llvm::GlobalVariable>(address)) {
        return designate_global(global);
    }
    if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(address)) {
        if (call->getIntrinsicID() == llvm::Intrinsic::threadlocal_address) {
            return designate(call->getArgOperand(0), depth + 1);
        }
        return {};
    }
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(address)) {
        Designator pointer = designate(load->getPointerOperand(), depth + 1);
        if (pointer.is_pointee && composite(pointer.type) == nullptr) {
            pointer.text = "*" + pointer.text;
        }
        return {pointer.text, pointee(pointer.type), true};
    }
    if (auto* step = llvm::dyn_cast<llvm::GEPOperator>(address)) {
        if (llvm::isa<llvm::Instruction>(address)) {
            return designate_step(step, depth);
        }
        if (auto* global =
                llvm::dyn_cast<llvm::GlobalVariable>(step->getPointerOperand())) {
            llvm::APInt offset(64, 0);
            step->accumulateConstantOffset(global->getParent()->getDataLayout(),
                                           offset);
            return part_at(designate_global(global), offset.getZExtValue());
        }
    }
    return {};
}

std::string text_of(const Designator& slot) {
    return slot.is_pointee && !slot.text.empty() ? "*" + slot.text : slot.text;
}

bool holds_pointer(const llvm::DIType* type, unsigned depth) {
    if (depth > deepest) {
        return false;
    }
    if (const llvm::DICompositeType* parts = composite(type)) {
        if (is_array(parts)) {
            return holds_pointer(parts->getBaseType(), depth + 1);
        }
        return llvm::any_of(parts->getElements(), [&](const llvm::DINode* node) {
            auto* member = llvm::dyn_cast<llvm::DIDerivedType>(node);
            return member != nullptr && !member->isStaticMember() &&
                   holds_pointer(member->getBaseType(), depth + 1);
        });
    }
    return is_pointer(type);
}

} // namespace

llvm::DILocalVariable* variable_of(llvm::AllocaInst* slot) {
    return declared_at(slot);
}

std::string name_of_slot(llvm::Value* address) {
    Designator slot = designate(address, 0);
    return slot.text.empty() ? slot.text : text_of(part_at(slot, 0));
}

std::string name_of_memory(llvm::Value* address) {
    return text_of(designate(address, 0));
}

std::string name_of_part(llvm::AllocaInst* aggregate, uint64_t offset) {
    return text_of(part_at(designate(aggregate, 0), offset));
}

bool points_to_union(const llvm::Value* pointer) {
    if (!llvm::isa<llvm::LoadInst>(pointer)) {
        return false;
    }
    const llvm::DICompositeType* type =
        composite(designate(const_cast<llvm::Value*>(pointer), 0).type);
    return type != nullptr && type->getTag() == llvm::dwarf::DW_TAG_union_type &&
           holds_pointer(type, 0);
}

bool is_pointer_sized_number(const llvm::DILocalVariable* variable) {
    auto* type = llvm::dyn_cast_or_null<llvm::DIDerivedType>(variable->getType());
    return type != nullptr && type->getTag() == llvm::dwarf::DW_TAG_typedef &&
           (type->getName() == "uintptr_t" || type->getName() == "intptr_t");
}

} // namespace leakline
