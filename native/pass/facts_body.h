// Numbers of values, blocks, locations and variables within one function's body.
#pragma once

#include "facts_constant.h"

#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/Instructions.h"

#include <map>

namespace leakline {

class BodyNumbers {
  public:
    BodyNumbers(UnitContext& unit, llvm::Function& function);

    int value(const llvm::Value* value);
    int result(const llvm::Instruction& instruction) const;
    int block(const llvm::BasicBlock* block) const {
        return blocks_.lookup(block);
    }
    int location(const llvm::DILocation* location);
    int variable(const llvm::DILocalVariable& variable,
                 std::optional<llvm::DIExpression::FragmentInfo> part);
    int value_count() const {
        return value_count_;
    }

    void write_constants(llvm::json::OStream& out);
    void write_locations(llvm::json::OStream& out) const;
    void write_variables(llvm::json::OStream& out) const;

    Mentioned mentioned;

  private:
    struct Place {
        int file, line, column;
    };
    struct Local {
        std::string name;
        int type, parameter, line;
    };

    UnitContext& unit_;
    const llvm::DISubprogram* subprogram_;
    int value_count_ = 0;
    llvm::DenseMap<const llvm::Value*, int> values_;
    llvm::DenseMap<const llvm::BasicBlock*, int> blocks_;
    llvm::MapVector<const llvm::Constant*, int> constants_;
    llvm::DenseMap<const llvm::DILocation*, int> location_indices_;
    std::vector<Place> locations_{{-1, 0, 0}};
    std::map<std::pair<const llvm::DILocalVariable*, uint64_t>, int> variable_indices_;
    std::vector<Local> variables_;
};

// Whether the instruction has no meaning for memory and is left out of the facts.
bool is_marker(const llvm::Instruction& instruction);

} // namespace leakline
