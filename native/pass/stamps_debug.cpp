#include "stamps_debug.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

namespace leakline {

#if LLVM_VERSION_MAJOR >= 19

void set_debug_information_apart(llvm::Function&) {
}

llvm::DILocalVariable* declared_at(llvm::Value* place) {
    for (llvm::DbgVariableRecord* record : llvm::findDVRDeclares(place)) {
        return record->getVariable();
    }
    if (auto* variable = llvm::dyn_cast<llvm::AllocaInst>(place)) {
        for (auto* record : llvm::at::getDVRAssignmentMarkers(variable)) {
            return record->getVariable();
        }
    }
    return nullptr;
}

llvm::DILabel* label_at(llvm::Instruction& instruction) {
    for (llvm::DbgRecord& record : instruction.getDbgRecordRange()) {
        if (auto* label = llvm::dyn_cast<llvm::DbgLabelRecord>(&record)) {
            return label->getLabel();
        }
    }
    return nullptr;
}

void forget_places_of_variables(llvm::Function& function) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
        instruction.dropDbgRecords();
        instruction.setMetadata(llvm::LLVMContext::MD_DIAssignID, nullptr);
    }
}

#else

void set_debug_information_apart(llvm::Function& function) {
    llvm::BasicBlock& first = function.getEntryBlock();
    llvm::Instruction* behind = &*first.getFirstNonPHIOrDbgOrAlloca();
    for (llvm::Instruction& instruction :
         llvm::make_early_inc_range(llvm::instructions(function))) {
        auto* declare = llvm::dyn_cast<llvm::DbgDeclareInst>(&instruction);
        if (declare != nullptr && llvm::isa<llvm::AllocaInst>(declare->getAddress())) {
            declare->moveBefore(behind);
        }
    }
}

llvm::DILocalVariable* declared_at(llvm::Value* place) {
    for (llvm::DbgDeclareInst* declare : llvm::FindDbgDeclareUses(place)) {
        return declare->getVariable();
    }
    return nullptr;
}

llvm::DILabel* label_at(llvm::Instruction& instruction) {
    auto* label = llvm::dyn_cast<llvm::DbgLabelInst>(&instruction);
    return label != nullptr ? label->getLabel() : nullptr;
}

void forget_places_of_variables(llvm::Function& function) {
    for (llvm::Instruction& instruction :
         llvm::make_early_inc_range(llvm::instructions(function))) {
        if (llvm::isa<llvm::DbgVariableIntrinsic>(instruction)) {
            instruction.eraseFromParent();
        }
    }
}

#endif

} // namespace leakline
