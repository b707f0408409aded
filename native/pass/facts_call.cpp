// Rows of calls: ordinary ones, intrinsics and inline assembly.
#include "facts_instruction.h"
#include "facts_member.h"
#include "facts_op.h"

#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace leakline {

void InstructionWriter::call_row(const CallBase& instruction) {
    if (instruction.isInlineAsm()) {
        return asm_row(instruction);
    }
    if (const auto* intrinsic = dyn_cast<IntrinsicInst>(&instruction);
        intrinsic && intrinsic_row(*intrinsic)) {
        return;
    }
    const auto* invoke = dyn_cast<InvokeInst>(&instruction);
    head(invoke ? kInvoke : kCall, instruction);
    call_fields(instruction);
    if (invoke) {
        block(invoke->getNormalDest());
        block(invoke->getUnwindDest());
    }
}

static int call_flags(const CallBase& call) {
    int flags = 0;
    flags |= call.doesNotReturn() ? kNoReturn : 0;
    flags |= call.hasFnAttr(Attribute::ReturnsTwice) ? kReturnsTwice : 0;
    flags |= call.doesNotThrow() ? kNoThrow : 0;
    flags |= call.returnDoesNotAlias() ? kFresh : 0;
    flags |= call.hasRetAttr(Attribute::NonNull) ? kNonNull : 0;
    flags |= call.hasByValArgument() ? kByVal : 0;
    return flags;
}

static StringRef callee_name(const Function& callee) {
    return callee.isIntrinsic() ? Intrinsic::getBaseName(callee.getIntrinsicID())
                                : callee.getName();
}

void InstructionWriter::call_fields(const CallBase& call) {
    const Value* target = call.getCalledOperand()->stripPointerCastsAndAliases();
    const auto* symbol = dyn_cast<GlobalValue>(target);
    std::string signature;
    if (const auto* callee = dyn_cast<Function>(target)) {
        StringRef name = callee_name(*callee);
        calls_.names.insert(name);
        out_.value(name);
    } else if (symbol && isa<GlobalIFunc>(symbol)) {
        calls_.names.insert(symbol->getName());
        out_.value(symbol->getName());
    } else {
        signature = signature_of(unit_.layout, *call.getFunctionType());
        value(target);
    }
    out_.array([&] {
        for (const Use& argument : call.args()) {
            value(argument);
        }
    });
    ty(call.getType());
    out_.value(call_flags(call));
    if (signature.empty()) {
        out_.value(nullptr);
        out_.value(nullptr);
    } else {
        out_.value(signature);
        calls_.signatures.push_back(std::move(signature));
        member_of_callee(*target);
    }
}

void InstructionWriter::member_of_callee(const Value& callee) {
    const auto* load = dyn_cast<LoadInst>(&callee);
    std::string member = load ? code_member(unit_, *load->getPointerOperand()) : "";
    if (member.empty()) {
        out_.value(nullptr);
    } else {
        out_.value(member);
    }
}

bool InstructionWriter::intrinsic_row(const IntrinsicInst& instruction) {
    if (const auto* memory = dyn_cast<MemIntrinsic>(&instruction)) {
        memory_row(*memory);
        return true;
    }
    switch (instruction.getIntrinsicID()) {
    case Intrinsic::expect:
    case Intrinsic::expect_with_probability:
    case Intrinsic::annotation:
    case Intrinsic::ptr_annotation:
    case Intrinsic::launder_invariant_group:
    case Intrinsic::strip_invariant_group:
    case Intrinsic::ssa_copy:
    case Intrinsic::threadlocal_address:
        same_row(instruction);
        return true;
    case Intrinsic::assume:
        head(kAssume, instruction);
        value(instruction.getArgOperand(0));
        return true;
    case Intrinsic::vastart:
        variadic_row(instruction, "start");
        return true;
    case Intrinsic::vaend:
        variadic_row(instruction, "end");
        return true;
    case Intrinsic::vacopy:
        variadic_row(instruction, "copy");
        return true;
    default:
        return false;
    }
}

void InstructionWriter::variadic_row(const Instruction& instruction, StringRef action) {
    head(kVariadic, instruction);
    out_.value(action);
    value(instruction.getOperand(0));
    if (action == "copy") {
        value(instruction.getOperand(1));
    } else {
        out_.value(nullptr);
    }
    ty(instruction.getType());
}

void InstructionWriter::memory_row(const MemIntrinsic& instruction) {
    const auto* transfer = dyn_cast<MemTransferInst>(&instruction);
    head(transfer ? kCopy : kFill, instruction);
    value(instruction.getRawDest());
    value(transfer ? transfer->getRawSource()
                   : cast<MemSetInst>(instruction).getValue());
    value(instruction.getLength());
    out_.value((instruction.isVolatile() ? kVolatile : 0) |
               (isa<MemMoveInst>(instruction) ? kOverlap : 0));
}

void InstructionWriter::asm_row(const CallBase& instruction) {
    const auto* assembly = cast<InlineAsm>(instruction.getCalledOperand());
    StringRef constraints = assembly->getConstraintString();
    head(kAsm, instruction);
    out_.array([&] {
        for (const Use& argument : instruction.args()) {
            value(argument);
        }
    });
    ty(instruction.getType());
    out_.value((assembly->hasSideEffects() ? kSideEffects : 0) |
               (constraints.contains("~{memory}") || constraints.contains("=*")
                    ? kWritesMemory
                    : 0) |
               (assembly->getAsmString().empty() ? kNoInstructions : 0));
    out_.array([&] {
        unsigned count =
            instruction.isTerminator() ? instruction.getNumSuccessors() : 0;
        for (unsigned i = 0; i < count; ++i) {
            block(instruction.getSuccessor(i));
        }
    });
}

} // namespace leakline
