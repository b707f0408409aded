#include "facts_assignment.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace leakline {

namespace {

// The part of the variable that a store writes; none when it cannot be described.
DIExpression* written_part(const DILocalVariable& variable, LLVMContext& context,
                           int64_t offset_bytes, uint64_t bits) {
    auto* whole = DIExpression::get(context, {});
    std::optional<uint64_t> variable_bits = variable.getSizeInBits();
    auto offset_bits = static_cast<uint64_t>(offset_bytes) * 8;
    if (offset_bytes == 0 && variable_bits == bits) {
        return whole;
    }
    if (offset_bytes < 0 || !variable_bits || offset_bits + bits > *variable_bits) {
        return nullptr;
    }
    return DIExpression::createFragmentExpression(
               whole, static_cast<unsigned>(offset_bits), static_cast<unsigned>(bits))
        .value_or(nullptr);
}

void mark(StoreInst& store, const DataLayout& layout) {
    int64_t offset = 0;
    Value* base =
        GetPointerBaseWithConstantOffset(store.getPointerOperand(), offset, layout);
    auto* local = dyn_cast<AllocaInst>(base);
    if (!local || !store.getDebugLoc()) {
        return;
    }
    auto declares = findDVRDeclares(local);
    if (declares.empty()) {
        return;
    }
    DILocalVariable* variable = declares.front()->getVariable();
    uint64_t bits =
        layout.getTypeSizeInBits(store.getValueOperand()->getType()).getFixedValue();
    if (DIExpression* part =
            written_part(*variable, store.getContext(), offset, bits)) {
        auto* record = DbgVariableRecord::createDbgVariableRecord(
            store.getValueOperand(), variable, part, store.getDebugLoc().get());
        store.getParent()->insertDbgRecordAfter(record, &store);
    }
}

} // namespace

void mark_assignments(Function& function) {
    const DataLayout& layout = function.getParent()->getDataLayout();
    for (BasicBlock& block : function) {
        for (Instruction& instruction : block) {
            if (auto* store = dyn_cast<StoreInst>(&instruction)) {
                mark(*store, layout);
            }
        }
    }
}

} // namespace leakline
