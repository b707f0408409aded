#include "facts_member.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/Operator.h"

using namespace llvm;

namespace leakline {

namespace {

bool is_code_pointer(const DIType* type) {
    const auto* pointer = dyn_cast_or_null<DIDerivedType>(TypeTable::resolved(type));
    if (!pointer || pointer->getTag() != dwarf::DW_TAG_pointer_type) {
        return false;
    }
    return isa_and_nonnull<DISubroutineType>(
        TypeTable::resolved(pointer->getBaseType()));
}

std::string spelled(StringRef holder, uint64_t offset_bits) {
    return (holder + "+" + Twine(offset_bits / 8)).str();
}

// The member that contains an offset; arrays count as their first element, because a
// table is stored to and called through alike.
std::string member_within(const DIType* type, uint64_t offset_bits) {
    const DIType* plain = TypeTable::resolved(type);
    const auto* composite = dyn_cast_or_null<DICompositeType>(plain);
    if (!composite) {
        return "";
    }
    if (composite->getTag() == dwarf::DW_TAG_array_type) {
        const DIType* element = TypeTable::resolved(composite->getBaseType());
        uint64_t bits = element ? element->getSizeInBits() : 0;
        return bits ? member_within(composite->getBaseType(), offset_bits % bits) : "";
    }
    for (const DINode* node : composite->getElements()) {
        const auto* member = dyn_cast_or_null<DIDerivedType>(node);
        if (!member || member->getTag() != dwarf::DW_TAG_member ||
            member->getOffsetInBits() > offset_bits ||
            offset_bits >= member->getOffsetInBits() + member->getSizeInBits()) {
            continue;
        }
        uint64_t rest = offset_bits - member->getOffsetInBits();
        if (rest == 0 && is_code_pointer(member->getBaseType())) {
            std::string holder = TypeTable::struct_key(type);
            return holder.empty() ? "" : spelled(holder, offset_bits);
        }
        return member_within(member->getBaseType(), rest);
    }
    return "";
}

} // namespace

std::string code_member_of_global(const GlobalVariable& global, uint64_t offset_bytes) {
    SmallVector<DIGlobalVariableExpression*, 1> expressions;
    global.getDebugInfo(expressions);
    if (expressions.empty()) {
        return "";
    }
    const DIType* type = expressions.front()->getVariable()->getType();
    if (offset_bytes == 0 && is_code_pointer(type)) {
        return spelled(("@" + global.getName()).str(), 0);
    }
    return member_within(type, offset_bytes * 8);
}

std::string code_member(UnitContext& unit, const Value& pointer) {
    const auto* step = dyn_cast<GEPOperator>(&pointer);
    if (step && !isa<Constant>(pointer)) {
        const auto* type = dyn_cast<StructType>(step->getSourceElementType());
        APInt offset(unit.layout.getIndexTypeSizeInBits(step->getType()), 0);
        if (!type || step->getNumIndices() < 2 ||
            !step->accumulateConstantOffset(unit.layout, offset)) {
            return "";
        }
        return member_within(unit.types.type_of_struct(unit.layout, *type),
                             offset.getZExtValue() * 8);
    }
    int64_t offset = 0;
    const Value* base = GetPointerBaseWithConstantOffset(&pointer, offset, unit.layout);
    const auto* global = dyn_cast<GlobalVariable>(base);
    return global && offset >= 0
               ? code_member_of_global(*global, static_cast<uint64_t>(offset))
               : "";
}

} // namespace leakline
