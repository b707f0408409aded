// Types in the facts: value types (ty), signatures, and the table of source types.
#pragma once

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/JSON.h"

#include <string>
#include <vector>

namespace leakline {

// Bytes that a value of this type occupies in memory; 0 for types without a size.
int64_t bytes_of(const llvm::DataLayout& layout, llvm::Type* type);

// Writes a ty: 0 pointer, n integer of n bits, -n other value of n bytes, null none.
void write_ty(llvm::json::OStream& out, const llvm::DataLayout& layout,
              llvm::Type* type);

// The signature string that indirect calls are matched by, as in "p(p,i32,...)".
std::string signature_of(const llvm::DataLayout& layout,
                         const llvm::FunctionType& type);

// The source types of one unit, numbered in the order they are first asked for.
class TypeTable {
  public:
    explicit TypeTable(const llvm::Module& module);

    // Index of a type, -1 for void and unknown. Typedefs and qualifiers are resolved.
    int index(const llvm::DIType* type);

    // The source type of an IR structure, null when debug info lacks it.
    const llvm::DIType* type_of_struct(const llvm::DataLayout& layout,
                                       const llvm::StructType& type);

    // Index of that type, -1 when debug info lacks it.
    int index_of_struct(const llvm::DataLayout& layout, const llvm::StructType& type);

    // The type without typedefs and qualifiers; null for void.
    static const llvm::DIType* resolved(const llvm::DIType* type);

    // "name/bytes" of a structure, the same in every unit; empty when it has no name.
    static std::string struct_key(const llvm::DIType* type);

    // Name and type of the member that starts at a bit offset; empty when none does.
    static const llvm::DIDerivedType* member_at(const llvm::DIType* type,
                                                uint64_t offset_bits);

    void write(llvm::json::OStream& out) const;

  private:
    std::string encode(const llvm::DIType& type, llvm::StringRef name);
    std::string encode_composite(const llvm::DICompositeType& type,
                                 llvm::StringRef name);

    llvm::DenseMap<const llvm::DIType*, int> indices_;
    llvm::DenseMap<const llvm::StructType*, const llvm::DIType*> struct_types_;
    llvm::StringMap<std::vector<const llvm::DIType*>> structs_by_name_;
    std::vector<std::string> entries_;
};

} // namespace leakline
