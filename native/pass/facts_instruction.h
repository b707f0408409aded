// One row of a body for each instruction.
#pragma once

#include "facts_body.h"

#include "llvm/IR/IntrinsicInst.h"

#include <set>

namespace leakline {

// What a function does beyond its body, gathered while rows are written.
struct CallsMade {
    llvm::SetVector<llvm::StringRef> names;
    std::vector<std::string> signatures;
    // Members that function pointers are stored to, with the function's name; empty
    // for a value that is not one known function.
    std::set<std::pair<std::string, std::string>> member_stores;
};

class InstructionWriter {
  public:
    InstructionWriter(llvm::json::OStream& out, UnitContext& unit, BodyNumbers& numbers,
                      CallsMade& calls)
        : out_(out), unit_(unit), numbers_(numbers), calls_(calls) {
    }

    void write(const llvm::Instruction& instruction);

  private:
    void fields(const llvm::Instruction& instruction);
    void alloca_row(const llvm::AllocaInst& instruction);
    void load_row(const llvm::LoadInst& instruction);
    void store_row(const llvm::StoreInst& instruction);
    void note_member_store(const llvm::StoreInst& instruction);
    void address_row(const llvm::GetElementPtrInst& instruction);
    void compare_row(const llvm::ICmpInst& instruction);
    void phi_row(const llvm::PHINode& instruction);
    void select_row(const llvm::SelectInst& instruction);
    void binary_row(const llvm::BinaryOperator& instruction);
    void cast_row(const llvm::CastInst& instruction);
    void same_row(const llvm::Instruction& instruction);
    void branch_row(const llvm::BranchInst& instruction);
    void switch_row(const llvm::SwitchInst& instruction);
    void return_row(const llvm::ReturnInst& instruction);
    void landing_pad_row(const llvm::LandingPadInst& instruction);
    void goto_row(const llvm::IndirectBrInst& instruction);
    void extract_row(const llvm::ExtractValueInst& instruction);
    void insert_row(const llvm::InsertValueInst& instruction);
    void exchange_row(const llvm::AtomicCmpXchgInst& instruction);
    void modify_row(const llvm::AtomicRMWInst& instruction);
    void variadic_row(const llvm::Instruction& instruction, llvm::StringRef action);
    void call_row(const llvm::CallBase& instruction);
    void member_of_callee(const llvm::Value& callee);
    void call_fields(const llvm::CallBase& instruction);
    bool intrinsic_row(const llvm::IntrinsicInst& instruction);
    void memory_row(const llvm::MemIntrinsic& instruction);
    void asm_row(const llvm::CallBase& instruction);
    void other_row(const llvm::Instruction& instruction);

    void head(int op, const llvm::Instruction& instruction);
    void value(const llvm::Value* value) {
        out_.value(numbers_.value(value));
    }
    void block(const llvm::BasicBlock* block) {
        out_.value(numbers_.block(block));
    }
    void ty(llvm::Type* type) {
        write_ty(out_, unit_.layout, type);
    }
    void values(llvm::User::const_op_range operands);
    int64_t member_offset(llvm::Type* type, llvm::ArrayRef<unsigned> indices) const;

    llvm::json::OStream& out_;
    UnitContext& unit_;
    BodyNumbers& numbers_;
    CallsMade& calls_;
};

} // namespace leakline
