// The operands of one piece of assembly: what the compiler has to have ready for it.
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/IRBuilder.h"

#include <string>

namespace leakline {

// Each method returns how the text names the operand. What stands there already gets
// no second place.
class Operands {
  public:
    // The value in a register.
    std::string in_register(llvm::Value* value);

    // A number that is known when the program is linked.
    std::string constant(llvm::Value* value);

    // A function that the text calls or jumps to.
    std::string function(llvm::Function* function);

    // A variable of the frame that the text reads.
    std::string variable(llvm::Value* address, llvm::Type* type);

    // Puts the piece into a function. `changed` are the registers that it changes.
    void write(llvm::IRBuilder<>& builder, const std::string& text,
               llvm::ArrayRef<const char*> changed) const;

  private:
    struct Operand {
        llvm::Value* value;
        const char* constraint;
        llvm::Type* read; // of what lies at the address; null: it is no address
    };

    std::string number_of(const Operand& operand);

    llvm::SmallVector<Operand> operands_;
};

} // namespace leakline
