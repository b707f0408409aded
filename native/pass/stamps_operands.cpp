#include "stamps_operands.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/InlineAsm.h"

namespace leakline {

std::string Operands::in_register(llvm::Value* value) {
    return "$" + number_of({value, "r", nullptr});
}

std::string Operands::constant(llvm::Value* value) {
    return "${" + number_of({value, "i", nullptr}) + ":c}";
}

std::string Operands::function(llvm::Function* function) {
    return "${" + number_of({function, "i", nullptr}) + ":P}";
}

std::string Operands::variable(llvm::Value* address, llvm::Type* type) {
    return "$" + number_of({address, "*m", type});
}

void Operands::write(llvm::IRBuilder<>& builder, const std::string& text,
                     llvm::ArrayRef<const char*> changed) const {
    llvm::SmallVector<llvm::Value*> values;
    llvm::SmallVector<llvm::Type*> types;
    std::string constraints;
    for (const Operand& operand : operands_) {
        values.push_back(operand.value);
        types.push_back(operand.value->getType());
        constraints += std::string(operand.constraint) + ",";
    }
    for (const char* name : changed) {
        constraints += std::string("~{") + name + "},";
    }
    constraints += "~{flags}";
    auto* type = llvm::FunctionType::get(builder.getVoidTy(), types, false);
    // It may call, and then the stack is walked from there: even in a function that
    // calls nothing else the frame is one of whole words, as walks expect.
    constexpr bool has_side_effects = true;
    constexpr bool aligns_stack = true;
    auto* code =
        llvm::InlineAsm::get(type, text, constraints, has_side_effects, aligns_stack);
    llvm::CallInst* written = builder.CreateCall(code, values);
    for (auto [number, operand] : llvm::enumerate(operands_)) {
        if (operand.read != nullptr) {
            written->addParamAttr(static_cast<unsigned>(number),
                                  llvm::Attribute::get(builder.getContext(),
                                                       llvm::Attribute::ElementType,
                                                       operand.read));
        }
    }
    written->addFnAttr(llvm::Attribute::NoUnwind);
}

std::string Operands::number_of(const Operand& operand) {
    auto* known = llvm::find_if(operands_, [&](const Operand& other) {
        return other.value == operand.value && other.constraint == operand.constraint;
    });
    auto number = known - operands_.begin();
    if (known == operands_.end()) {
        operands_.push_back(operand);
    }
    return std::to_string(number);
}

} // namespace leakline
