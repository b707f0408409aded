// The machine code of notes. It is written as assembly that the compiler takes as one
// instruction: to choose instructions and registers for each note anew would take most
// of the time of compiling.
#pragma once
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace leakline {

struct Note {
    llvm::Value* old;  // as a number
    llvm::Value* site; // its distance from the start of the table
    // What the slot is about to hold instead, as a number: if that is the same, nothing
    // is lost. A constant is no heap pointer, and so never the same as one.
    llvm::Value* given;
    // Where the frame still holds the old value, so that it needs no register; null:
    // nowhere. Such words are parts of aggregates, which are mostly empty.
    llvm::Value* place = nullptr;
};

class NoteCode {
  public:
    NoteCode(llvm::Module& module, llvm::GlobalVariable* sites);

    // Looks at each whether it is a heap pointer, and stamps, all in line. Nothing may
    // stamp between them. The context is a variable of 32 bits in the frame, so that no
    // register holds it between notes.
    void write_in_line(llvm::IRBuilder<>& builder, llvm::ArrayRef<Note> notes,
                       llvm::AllocaInst* context) const;

    // Leaves both to a function, which is less code.
    void write_call(llvm::IRBuilder<>& builder, const Note& note,
                    llvm::AllocaInst* context) const;

    // Makes the runtime take the stack of a context: void(i32). It leaves the registers
    // of its caller alone.
    llvm::Function* note_context() const {
        return note_context_;
    }

    // The table.
    llvm::GlobalVariable* sites() const {
        return sites_;
    }

  private:
    llvm::Function* make_note_context() const;
    llvm::Function* make_bare(const char* name, const std::string& text) const;
    llvm::Value* heap_tag() const;

    llvm::Module& module_;
    llvm::GlobalVariable* sites_;
    llvm::Function* note_context_;
    llvm::Function* count_;
    llvm::Function* lose_;
};

} // namespace leakline
