// The ways out of a scope: the statements that may have left it. Several of them
// (`return`, `break`, `goto`, the closing brace) often share one block of cleanups;
// then a number tells which one it was, by the branch that led there. All variables
// that end in that block share the number.
#pragma once
#include "stamps_sites.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/IR/DebugLoc.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"

#include <map>
#include <tuple>
#include <vector>

namespace leakline {

struct Ways {
    std::vector<llvm::DebugLoc> places; // of the statements, by the number of the way
    llvm::Value* number = nullptr;      // 64 bits
};

// True for the way of an exception out of the function.
bool is_unwinding(const llvm::BasicBlock* block, unsigned depth = 0);

// The site of one variable for the way that was taken; `site` tells all but the place.
llvm::Value* site_of_way(const Ways& ways, const Site& site, const Births& births,
                         SiteTable& sites, llvm::IRBuilder<>& builder);

class Exits {
  public:
    explicit Exits(llvm::Function& function);

    // The ways to the end of a scope at an instruction.
    const Ways& ways(llvm::Instruction* end);

    // Those of them that come from one of the blocks that lead to the instruction's
    // own.
    const Ways& ways_from(llvm::BasicBlock* from, llvm::Instruction* end);

  private:
    // While they are being found.
    struct Search {
        Search(Ways& ways, llvm::DebugLoc own) : ways(ways), own(std::move(own)) {
        }

        Ways& ways;
        llvm::DebugLoc own; // of the end of the scope itself
        llvm::DenseMap<llvm::BasicBlock*, llvm::Value*> on_entry;
    };

    // True where nothing is run but cleanups while an exception passes.
    bool is_passed(const llvm::BasicBlock* block) const {
        return !of_statements_.contains(block);
    }

    static llvm::Value* number_of(llvm::DebugLoc place, llvm::BasicBlock* block,
                                  Search& search);
    llvm::Value* number_on_entry(llvm::BasicBlock* block, Search& search);
    llvm::Value* number_from(llvm::BasicBlock* from, llvm::BasicBlock* to,
                             Search& search);
    bool leads_on(llvm::BasicBlock* from, llvm::BasicBlock* to) const;

    llvm::DenseSet<const llvm::BasicBlock*> of_statements_;

    // By the block of the end, the block that it comes from (null: any of them) and the
    // place of the end itself.
    std::map<std::tuple<llvm::BasicBlock*, llvm::BasicBlock*, const llvm::MDNode*>,
             Ways>
        known_;
};

} // namespace leakline
