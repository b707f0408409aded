#include "stamps_locals.h"

#include "stamps_debug.h"
#include "stamps_temporaries.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"

namespace leakline {

namespace {

// Of a DISubprogram: what has to be told of its variables even if none of them is left.
constexpr unsigned retained_nodes_operand = 7;

bool releases_blocks(llvm::Function& function) {
    return llvm::any_of(llvm::instructions(function),
                        [](const llvm::Instruction& instruction) {
                            auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
                            return call != nullptr && releases_block(*call);
                        });
}

void forget_locals_of(llvm::Function& function) {
    forget_places_of_variables(function);
    if (llvm::DISubprogram* told = function.getSubprogram()) {
        told->replaceOperandWith(retained_nodes_operand,
                                 llvm::MDTuple::get(function.getContext(), {}));
    }
}

} // namespace

void forget_local_variables(llvm::Module& module) {
    for (llvm::Function& function : module) {
        if (!function.isDeclaration() && !releases_blocks(function)) {
            forget_locals_of(function);
        }
    }
}

} // namespace leakline
