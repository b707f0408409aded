// Which calls may free what they are given, as far as their source or their name tells:
// whether they did, only the run can.
#pragma once
#include "stamps_freeing.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Module.h"

#include <utility>

namespace leakline {

class PossibleFreeing {
  public:
    PossibleFreeing(llvm::Module& module, const Freeing& freeing);

    // The block that the argument points to.
    bool may_free(const llvm::CallBase& call, unsigned argument) const {
        return is_asked_about(call) && may(direct_, call, argument);
    }

    // Blocks that members of the object point to which the argument points to.
    bool may_free_members(const llvm::CallBase& call, unsigned argument) const {
        return is_asked_about(call) && may(of_members_, call, argument);
    }

  private:
    using Parameters = llvm::DenseSet<std::pair<const llvm::Function*, unsigned>>;

    bool is_asked_about(const llvm::CallBase& call) const;
    bool may(const Parameters& known, const llvm::CallBase& call,
             unsigned argument) const;

    const Freeing& freeing_;
    Parameters direct_;
    Parameters of_members_;
    llvm::DenseSet<const llvm::Function*> by_themselves_; // free what they are given
};

} // namespace leakline
