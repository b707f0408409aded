// Constants as the facts spell them, and the initial values of global variables.
#pragma once

#include "facts_unit.h"

#include "llvm/ADT/SetVector.h"

namespace leakline {

// Names that constants mention, gathered while they are written.
struct Mentioned {
    llvm::SetVector<llvm::StringRef> functions;
    llvm::SetVector<llvm::StringRef> globals;
};

void write_constant(llvm::json::OStream& out, const llvm::DataLayout& layout,
                    const llvm::Constant& constant, Mentioned& mentioned);

// A function's address within an initial value.
struct CodeAddress {
    int64_t offset_bytes;
    const llvm::Function* function;
};

// What was met while an initial value was written.
struct Initialised {
    bool truncated = false;
    std::vector<CodeAddress> addresses;
};

// Writes the list of scalars that are not zero; plain ones only up to a limit.
Initialised write_initialiser(llvm::json::OStream& out, const llvm::DataLayout& layout,
                              const llvm::Constant& constant);

} // namespace leakline
