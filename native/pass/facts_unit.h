// What all parts of one unit's facts share while they are written.
#pragma once

#include "facts_types.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/PassManager.h"

namespace leakline {

// The numbered files of a unit; 0 is the main file.
class FileTable {
  public:
    explicit FileTable(const llvm::Module& module);
    int index(const llvm::DIFile* file);
    void write(llvm::json::OStream& out) const;

  private:
    llvm::StringMap<int> indices_;
    std::vector<std::string> paths_;
};

// A function and argument (from 0) that releases what another function returns.
struct Release {
    std::string function;
    unsigned argument;
};

struct UnitContext {
    explicit UnitContext(const llvm::Module& unit_module);

    const llvm::Module& module;
    const llvm::DataLayout& layout;
    TypeTable types;
    FileTable files;
    llvm::DenseMap<const llvm::Function*, std::vector<Release>> releases;
};

// The words of the format for a symbol's linkage.
llvm::StringRef linkage_word(const llvm::GlobalValue& value);

// Fields that declarations and function headers have in common.
void write_interface(llvm::json::OStream& out, UnitContext& unit,
                     const llvm::Function& function);

// Writes all facts of the unit: the unit line, then two lines for each function.
// Local variables are promoted first where their address is not taken.
void write_unit(llvm::raw_ostream& stream, llvm::Module& module,
                llvm::FunctionAnalysisManager& analyses);

} // namespace leakline
