// Members of unions that are no pointers, but lie where others are.
#pragma once
#include "llvm/IR/Instructions.h"

#include <cstdint>
#include <optional>

namespace leakline {

// True for the types by which clang means unions, if pointers have room in them.
bool is_union(const llvm::StructType* type);

// Where in such a union an address lies; nothing when it does not as far as the
// compiler knows, or when only the run can tell where.
std::optional<uint64_t> offset_in_union(const llvm::Value* address,
                                        const llvm::DataLayout& layout);

} // namespace leakline
