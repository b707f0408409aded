#include "stamps_unions.h"

#include "stamps_names.h"

#include "llvm/IR/DataLayout.h"
#include "llvm/IR/GetElementPtrTypeIterator.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/Operator.h"

namespace leakline {

namespace {

bool has_room(llvm::Type* type, const llvm::DataLayout& layout) {
    auto* record = llvm::dyn_cast<llvm::StructType>(type);
    return record != nullptr && is_union(record) && record->isSized() &&
           layout.getABITypeAlign(record) >= 8;
}

// Where in a union an offset of a larger type is.
std::optional<uint64_t> offset_within(llvm::Type* type, uint64_t offset,
                                      const llvm::DataLayout& layout) {
    while (!has_room(type, layout)) {
        auto* record = llvm::dyn_cast<llvm::StructType>(type);
        if (record != nullptr && record->isSized()) {
            const llvm::StructLayout* members = layout.getStructLayout(record);
            if (offset >= members->getSizeInBytes()) {
                return std::nullopt;
            }
            unsigned member = members->getElementContainingOffset(offset);
            offset -= members->getElementOffset(member);
            type = record->getElementType(member);
        } else if (auto* array = llvm::dyn_cast<llvm::ArrayType>(type)) {
            type = array->getElementType();
            uint64_t bytes = layout.getTypeAllocSize(type);
            if (bytes == 0) {
                return std::nullopt;
            }
            offset %= bytes;
        } else {
            return std::nullopt;
        }
    }
    return offset;
}

std::optional<uint64_t> offset_at_base(const llvm::Value* base, uint64_t offset,
                                       const llvm::DataLayout& layout) {
    if (auto* variable = llvm::dyn_cast<llvm::AllocaInst>(base)) {
        return offset_within(variable->getAllocatedType(), offset, layout);
    }
    if (auto* global = llvm::dyn_cast<llvm::GlobalVariable>(base)) {
        return offset_within(global->getValueType(), offset, layout);
    }
    if (points_to_union(base)) {
        return offset;
    }
    return std::nullopt;
}

} // namespace

bool is_union(const llvm::StructType* type) {
    return type->hasName() && type->getName().starts_with("union.");
}

std::optional<uint64_t> offset_in_union(const llvm::Value* address,
                                        const llvm::DataLayout& layout) {
    uint64_t inner = 0; // of the steps inside of the union
    while (auto* step = llvm::dyn_cast<llvm::GEPOperator>(address)) {
        if (has_room(step->getResultElementType(), layout)) {
            return inner;
        }
        llvm::APInt offset(64, 0);
        if (!step->accumulateConstantOffset(layout, offset) || offset.isNegative()) {
            return std::nullopt;
        }
        inner += offset.getZExtValue();
        if (auto found = offset_within(step->getSourceElementType(), inner, layout)) {
            return found;
        }
        address = step->getPointerOperand();
    }
    return offset_at_base(address, inner, layout);
}

} // namespace leakline
