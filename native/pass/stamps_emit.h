// Calls that note a lost reference, as the instrumentation puts them into functions.
// They stand for code that only `expand_stamps` writes, when all optimisation is done:
// until then a loss is one call that touches no memory of the program, so variables
// stay in registers and branches stay where they were.
#pragma once
#include "llvm/IR/DebugLoc.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace leakline {

// Of a value that a slot loses: old, site, and what the slot is given instead.
inline constexpr const char* lost_name = "leakline.lost";
// Of a slot in memory: old, site, slot.
inline constexpr const char* lost_from_name = "leakline.lost_from";
// Of a value that such a slot gets: value, site, slot.
inline constexpr const char* born_name = "leakline.born";

// The function that such a call is of.
llvm::Function* declare_note(llvm::Module& module, const char* name);

// Whether references in memory have births. Notes that tell the slot keep it in memory.
enum class MemoryBirths { unknown, noted };

class Emitter {
  public:
    Emitter(llvm::Module& module, MemoryBirths births);

    // `old` is a value that a slot is about to lose: a pointer or 64 bits.
    void lost(llvm::Instruction* before, llvm::Value* old, llvm::Value* site,
              llvm::DebugLoc where) const;

    // The same for a slot that is given another value. If that is the one that it has,
    // nothing is lost.
    void replaced(llvm::Instruction* before, llvm::Value* old, llvm::Value* given,
                  llvm::Value* site, llvm::DebugLoc where) const;

    // The same, but the caller holds it, unless it is no instrumented one.
    void replaced_outside(llvm::Instruction* before, llvm::Value* old,
                          llvm::Value* given, llvm::Value* site,
                          llvm::DebugLoc where) const;

    // As `lost`, for the 64 bits at an address. They are no reference where `gone` is
    // true; null: they always are.
    void lost_at(llvm::Instruction* before, llvm::Value* address, llvm::Align align,
                 llvm::Value* site, llvm::DebugLoc where,
                 llvm::Value* gone = nullptr) const;

    // As `replaced`, for what a store overwrites.
    void overwritten(llvm::StoreInst* store, llvm::Value* site,
                     llvm::Value* gone) const;

    // As `overwritten`, for the 64 bits at an address of which the store overwrites a
    // part.
    void partly_overwritten(llvm::StoreInst* store, llvm::Value* address,
                            llvm::Value* site, llvm::Value* gone) const;

    // All words of some memory are about to be lost. Those that are references become
    // zero, so that whoever overwrites them does not note them again.
    void lost_in(llvm::Instruction* before, llvm::Value* start, llvm::Value* bytes,
                 llvm::Value* site, llvm::DebugLoc where) const;

    // The same for words that others are about to be copied over. Those that are copied
    // themselves stay.
    void copied_over(llvm::Instruction* before, llvm::Value* to, llvm::Value* from,
                     llvm::Value* bytes, llvm::Value* site, llvm::DebugLoc where) const;

    // A slot in memory is about to get a value: a pointer or 64 bits. Nothing is noted
    // where births are unknown, here and below.
    void born(llvm::Instruction* before, llvm::Value* value, llvm::Value* slot,
              llvm::Value* site, llvm::DebugLoc where) const;

    // The same for a slot that has its value already.
    void born_at(llvm::Instruction* before, llvm::Value* slot, llvm::Align align,
                 llvm::Value* site, llvm::DebugLoc where) const;

    // Words are about to be copied from one place to another.
    void born_by_copy(llvm::Instruction* before, llvm::Value* to, llvm::Value* from,
                      llvm::Value* bytes, llvm::Value* site,
                      llvm::DebugLoc where) const;

    // As `lost`, for a value that a slot in memory held.
    void lost_from(llvm::Instruction* before, llvm::Value* old, llvm::Value* slot,
                   llvm::Value* site, llvm::DebugLoc where) const;

  private:
    void note(llvm::Function* note, llvm::Instruction* before, llvm::Value* old,
              llvm::Value* given, llvm::Value* site, llvm::DebugLoc where) const;
    void call(llvm::Function* function, llvm::Instruction* before,
              llvm::ArrayRef<llvm::Value*> arguments, llvm::DebugLoc where) const;

    llvm::Function* lost_;
    llvm::Function* lost_outside_;
    llvm::Function* lost_from_ = nullptr; // null where births are unknown, as below
    llvm::Function* born_ = nullptr;
    llvm::Function* take_;
    llvm::Function* copy_over_;
    llvm::Function* bear_all_ = nullptr;
};

} // namespace leakline
