// Functions that code calls for references in memory whose births are noted. Each
// module has its own. They leave the registers of their callers alone.
#pragma once
#include "stamps_code.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace leakline {

class Helpers {
  public:
    Helpers(llvm::Module& module, const NoteCode& code) : module_(module), code_(code) {
    }

    // Counts, and stamps what a slot in memory loses if it is a heap pointer: old,
    // site, context, slot. The runtime finds the birth of the reference, if it wants
    // to.
    void call_lose_from(llvm::IRBuilder<>& builder,
                        llvm::ArrayRef<llvm::Value*> arguments);

    // A slot in memory gets a value: value, site, context, slot.
    void call_bear(llvm::IRBuilder<>& builder, llvm::ArrayRef<llvm::Value*> arguments);

  private:
    llvm::Function* make(const char* name, uint64_t hook_address,
                         bool stamps_without_hook) const;
    void know_context(llvm::Instruction* before, llvm::Value* context) const;
    void stamp(llvm::IRBuilder<>& builder, llvm::Function& function) const;

    llvm::Module& module_;
    const NoteCode& code_;
    llvm::Function* lose_from_ = nullptr; // made when they are asked for
    llvm::Function* bear_ = nullptr;
};

} // namespace leakline
