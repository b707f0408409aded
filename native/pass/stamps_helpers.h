// Functions that instrumented code calls for what is rare or would be long in line.
// Each module has its own. They leave the registers of their callers alone.
#pragma once
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace leakline {

class Helpers {
  public:
    explicit Helpers(llvm::Module& module);

    // Ticks the clock so often, before the instruction, and lets the runtime take the
    // stack of the context if it does not know it; returns the new time.
    llvm::Value* count(llvm::Instruction* before, llvm::Value* context,
                       uint64_t ticks) const;

    static void write_stamp(llvm::IRBuilder<>& builder, llvm::Value* old,
                            llvm::Value* site, llvm::Value* clock,
                            llvm::Value* context);

    // Counts, and stamps what may be a heap pointer: old, site, context.
    void call_lose(llvm::IRBuilder<>& builder,
                   llvm::ArrayRef<llvm::Value*> arguments) const;

    // The same for what a slot in memory loses: old, site, context, slot. The runtime
    // finds the birth of the reference, if it wants to.
    void call_lose_from(llvm::IRBuilder<>& builder,
                        llvm::ArrayRef<llvm::Value*> arguments);

    // A slot in memory gets a value: value, site, context, slot.
    void call_bear(llvm::IRBuilder<>& builder, llvm::ArrayRef<llvm::Value*> arguments);

  private:
    llvm::Function* make(const char* name, llvm::Type* result,
                         llvm::ArrayRef<llvm::Type*> parameters) const;
    llvm::Function* make(const char* name,
                         llvm::ArrayRef<llvm::Type*> parameters) const;
    llvm::Function* make_note_context() const;
    llvm::Function* make_count() const;
    llvm::Function* make_stamp() const;
    llvm::Function* make_lose() const;
    llvm::Function* make_for_slot(const char* name, uint64_t hook_address,
                                  bool stamps_without_hook) const;
    void know_context(llvm::Instruction* before, llvm::Value* context) const;

    llvm::Module& module_;
    llvm::Function* note_context_;
    llvm::Function* count_;
    llvm::Function* stamp_;
    llvm::Function* lose_;
    llvm::Function* lose_from_ = nullptr; // made when they are asked for
    llvm::Function* bear_ = nullptr;
};

// The place at an address that is the same in every process.
llvm::Value* fixed_place(llvm::IRBuilder<>& builder, uint64_t address);

// Weights of a branch that is hardly ever taken, and of one that hardly ever is not.
llvm::MDNode* rarely(llvm::LLVMContext& context);
llvm::MDNode* mostly(llvm::LLVMContext& context);

} // namespace leakline
