#include "facts_instruction.h"

#include "facts_member.h"
#include "facts_op.h"

#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Operator.h"

using namespace llvm;

namespace leakline {

void InstructionWriter::write(const Instruction& instruction) {
    out_.array([&] { fields(instruction); });
}

void InstructionWriter::head(int op, const Instruction& instruction) {
    out_.value(op);
    out_.value(numbers_.result(instruction));
    out_.value(numbers_.location(instruction.getDebugLoc().get()));
}

void InstructionWriter::fields(const Instruction& instruction) {
    switch (instruction.getOpcode()) {
    case Instruction::Alloca:
        return alloca_row(cast<AllocaInst>(instruction));
    case Instruction::Load:
        return load_row(cast<LoadInst>(instruction));
    case Instruction::Store:
        return store_row(cast<StoreInst>(instruction));
    case Instruction::GetElementPtr:
        return address_row(cast<GetElementPtrInst>(instruction));
    case Instruction::ICmp:
        return compare_row(cast<ICmpInst>(instruction));
    case Instruction::PHI:
        return phi_row(cast<PHINode>(instruction));
    case Instruction::Select:
        return select_row(cast<SelectInst>(instruction));
    case Instruction::Freeze:
        return same_row(instruction);
    case Instruction::Br:
        return branch_row(cast<BranchInst>(instruction));
    case Instruction::Switch:
        return switch_row(cast<SwitchInst>(instruction));
    case Instruction::Ret:
        return return_row(cast<ReturnInst>(instruction));
    case Instruction::Unreachable:
        return head(kUnreachable, instruction);
    case Instruction::LandingPad:
        return landing_pad_row(cast<LandingPadInst>(instruction));
    case Instruction::Resume:
        head(kResume, instruction);
        return value(instruction.getOperand(0));
    case Instruction::IndirectBr:
        return goto_row(cast<IndirectBrInst>(instruction));
    case Instruction::ExtractValue:
        return extract_row(cast<ExtractValueInst>(instruction));
    case Instruction::InsertValue:
        return insert_row(cast<InsertValueInst>(instruction));
    case Instruction::AtomicCmpXchg:
        return exchange_row(cast<AtomicCmpXchgInst>(instruction));
    case Instruction::AtomicRMW:
        return modify_row(cast<AtomicRMWInst>(instruction));
    case Instruction::VAArg:
        return variadic_row(instruction, "arg");
    case Instruction::Call:
    case Instruction::Invoke:
    case Instruction::CallBr:
        return call_row(cast<CallBase>(instruction));
    default:
        if (const auto* binary = dyn_cast<BinaryOperator>(&instruction)) {
            return binary_row(*binary);
        }
        if (const auto* conversion = dyn_cast<CastInst>(&instruction)) {
            return cast_row(*conversion);
        }
        return other_row(instruction);
    }
}

void InstructionWriter::alloca_row(const AllocaInst& instruction) {
    head(kAlloca, instruction);
    out_.value(bytes_of(unit_.layout, instruction.getAllocatedType()));
    if (instruction.isArrayAllocation()) {
        value(instruction.getArraySize());
    } else {
        out_.value(nullptr);
    }
    auto declares = findDVRDeclares(const_cast<AllocaInst*>(&instruction));
    out_.value(declares.empty()
                   ? -1
                   : numbers_.variable(*declares.front()->getVariable(), std::nullopt));
}

template <typename Access> static int access_flags(const Access& access) {
    return (access.isVolatile() ? kVolatile : 0) |
           (access.isAtomic() ? kAtomicAccess : 0);
}

void InstructionWriter::load_row(const LoadInst& instruction) {
    head(kLoad, instruction);
    value(instruction.getPointerOperand());
    ty(instruction.getType());
    out_.value(bytes_of(unit_.layout, instruction.getType()));
    out_.value(access_flags(instruction));
}

void InstructionWriter::store_row(const StoreInst& instruction) {
    Type* type = instruction.getValueOperand()->getType();
    head(kStore, instruction);
    value(instruction.getValueOperand());
    value(instruction.getPointerOperand());
    ty(type);
    out_.value(bytes_of(unit_.layout, type));
    out_.value(access_flags(instruction));
    note_member_store(instruction);
}

void InstructionWriter::note_member_store(const StoreInst& instruction) {
    const Value* stored = instruction.getValueOperand();
    if (!stored->getType()->isPointerTy() || isa<ConstantPointerNull>(stored)) {
        return;
    }
    std::string member = code_member(unit_, *instruction.getPointerOperand());
    if (!member.empty()) {
        const auto* function =
            dyn_cast<Function>(stored->stripPointerCastsAndAliases());
        calls_.member_stores.insert(
            {member, function ? function->getName().str() : ""});
    }
}

// The structure that a step of pointer arithmetic goes into, if it goes into one.
static const StructType* stepped_struct(const GetElementPtrInst& instruction) {
    const auto* type = dyn_cast<StructType>(instruction.getSourceElementType());
    return instruction.getNumIndices() > 1 ? type : nullptr;
}

void InstructionWriter::address_row(const GetElementPtrInst& instruction) {
    unsigned bits = unit_.layout.getIndexTypeSizeInBits(instruction.getType());
    MapVector<Value*, APInt> terms;
    APInt offset(bits, 0);
    if (instruction.getType()->isVectorTy() ||
        !cast<GEPOperator>(instruction)
             .collectOffset(unit_.layout, bits, terms, offset)) {
        return other_row(instruction);
    }
    head(kAddress, instruction);
    value(instruction.getPointerOperand());
    out_.value(offset.getSExtValue());
    out_.array([&] {
        for (const auto& [index, scale] : terms) {
            out_.array([&] {
                value(index);
                out_.value(scale.getSExtValue());
            });
        }
    });
    const StructType* type = stepped_struct(instruction);
    out_.value(type ? unit_.types.index_of_struct(unit_.layout, *type) : -1);
}

void InstructionWriter::compare_row(const ICmpInst& instruction) {
    if (instruction.getType()->isVectorTy()) {
        return other_row(instruction);
    }
    head(kCompare, instruction);
    out_.value(CmpInst::getPredicateName(instruction.getPredicate()));
    value(instruction.getOperand(0));
    value(instruction.getOperand(1));
    ty(instruction.getOperand(0)->getType());
}

void InstructionWriter::phi_row(const PHINode& instruction) {
    head(kPhi, instruction);
    ty(instruction.getType());
    out_.array([&] {
        for (unsigned i = 0; i < instruction.getNumIncomingValues(); ++i) {
            out_.array([&] {
                block(instruction.getIncomingBlock(i));
                value(instruction.getIncomingValue(i));
            });
        }
    });
}

void InstructionWriter::select_row(const SelectInst& instruction) {
    if (instruction.getCondition()->getType()->isVectorTy()) {
        return other_row(instruction);
    }
    head(kSelect, instruction);
    value(instruction.getCondition());
    value(instruction.getTrueValue());
    value(instruction.getFalseValue());
    ty(instruction.getType());
}

void InstructionWriter::binary_row(const BinaryOperator& instruction) {
    head(kBinary, instruction);
    out_.value(instruction.getOpcodeName());
    value(instruction.getOperand(0));
    value(instruction.getOperand(1));
    ty(instruction.getType());
}

void InstructionWriter::cast_row(const CastInst& instruction) {
    head(kCast, instruction);
    out_.value(instruction.getOpcodeName());
    value(instruction.getOperand(0));
    ty(instruction.getType());
    ty(instruction.getOperand(0)->getType());
}

void InstructionWriter::same_row(const Instruction& instruction) {
    head(kCast, instruction);
    out_.value("same");
    value(instruction.getOperand(0));
    ty(instruction.getType());
    ty(instruction.getType());
}

void InstructionWriter::branch_row(const BranchInst& instruction) {
    if (instruction.isUnconditional()) {
        head(kJump, instruction);
        return block(instruction.getSuccessor(0));
    }
    head(kBranch, instruction);
    value(instruction.getCondition());
    block(instruction.getSuccessor(0));
    block(instruction.getSuccessor(1));
}

void InstructionWriter::switch_row(const SwitchInst& instruction) {
    head(kSwitch, instruction);
    value(instruction.getCondition());
    block(instruction.getDefaultDest());
    out_.array([&] {
        for (const auto& choice : instruction.cases()) {
            out_.array([&] {
                SmallString<32> digits;
                choice.getCaseValue()->getValue().toStringSigned(digits);
                out_.rawValue(digits);
                block(choice.getCaseSuccessor());
            });
        }
    });
}

void InstructionWriter::return_row(const ReturnInst& instruction) {
    head(kReturn, instruction);
    if (const Value* result = instruction.getReturnValue()) {
        value(result);
    } else {
        out_.value(nullptr);
    }
}

void InstructionWriter::landing_pad_row(const LandingPadInst& instruction) {
    head(kLandingPad, instruction);
    ty(instruction.getType());
    bool only_cleans = instruction.isCleanup() && instruction.getNumClauses() == 0;
    out_.value(only_cleans ? 1 : 0);
}

void InstructionWriter::goto_row(const IndirectBrInst& instruction) {
    head(kGoto, instruction);
    value(instruction.getAddress());
    out_.array([&] {
        for (unsigned i = 0; i < instruction.getNumDestinations(); ++i) {
            block(instruction.getDestination(i));
        }
    });
}

int64_t InstructionWriter::member_offset(Type* type, ArrayRef<unsigned> indices) const {
    int64_t offset = 0;
    for (unsigned index : indices) {
        if (auto* structure = dyn_cast<StructType>(type)) {
            const StructLayout* fields = unit_.layout.getStructLayout(structure);
            offset += static_cast<int64_t>(fields->getElementOffset(index));
            type = structure->getElementType(index);
        } else {
            type = cast<ArrayType>(type)->getElementType();
            offset += bytes_of(unit_.layout, type) * index;
        }
    }
    return offset;
}

void InstructionWriter::extract_row(const ExtractValueInst& instruction) {
    const Value* aggregate = instruction.getAggregateOperand();
    head(kExtract, instruction);
    value(aggregate);
    out_.value(member_offset(aggregate->getType(), instruction.getIndices()));
    ty(instruction.getType());
}

void InstructionWriter::insert_row(const InsertValueInst& instruction) {
    const Value* member = instruction.getInsertedValueOperand();
    head(kInsert, instruction);
    value(instruction.getAggregateOperand());
    value(member);
    out_.value(member_offset(instruction.getType(), instruction.getIndices()));
    ty(member->getType());
}

void InstructionWriter::exchange_row(const AtomicCmpXchgInst& instruction) {
    head(kAtomic, instruction);
    out_.value("cmpxchg");
    value(instruction.getPointerOperand());
    value(instruction.getNewValOperand());
    value(instruction.getCompareOperand());
    ty(instruction.getNewValOperand()->getType());
}

void InstructionWriter::modify_row(const AtomicRMWInst& instruction) {
    head(kAtomic, instruction);
    out_.value(AtomicRMWInst::getOperationName(instruction.getOperation()));
    value(instruction.getPointerOperand());
    value(instruction.getValOperand());
    out_.value(nullptr);
    ty(instruction.getType());
}

void InstructionWriter::values(User::const_op_range operands) {
    out_.array([&] {
        for (const Use& operand : operands) {
            if (!operand->getType()->isMetadataTy() &&
                !operand->getType()->isLabelTy()) {
                value(operand);
            }
        }
    });
}

void InstructionWriter::other_row(const Instruction& instruction) {
    head(kOther, instruction);
    out_.value(instruction.getOpcodeName());
    values(instruction.operands());
    ty(instruction.getType());
}

} // namespace leakline
