// Which calls may free what they are given, as far as their source or their name tells:
// whether they did, only the run can.
#pragma once
#include "stamps_freeing.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Module.h"

#include <cstdint>
#include <utility>

namespace leakline {

struct Handed;

class PossibleFreeing {
  public:
    PossibleFreeing(llvm::Module& module, const Freeing& freeing);

    // The block that the argument points to.
    bool may_free(const llvm::CallBase& call, unsigned argument) const {
        return is_asked_about(call) && may_directly(call, argument);
    }

    // The block that the member at an offset of the object points to which the argument
    // points to.
    bool may_free_member(const llvm::CallBase& call, unsigned argument,
                         int64_t offset) const;

  private:
    using Parameter = std::pair<const llvm::Function*, unsigned>;
    // The offsets of members, or one that stands for all of them.
    using Members = llvm::SmallSet<int64_t, 8>;

    bool is_asked_about(const llvm::CallBase& call) const;
    bool may_directly(const llvm::CallBase& call, unsigned argument) const;
    Members members_of(const llvm::CallBase& call, unsigned argument) const;
    bool add(Parameter parameter, const Handed& handed);
    bool add_member(Parameter parameter, int64_t offset);

    const Freeing& freeing_;
    llvm::DenseSet<Parameter> direct_;
    llvm::DenseMap<Parameter, Members> of_members_;
    llvm::DenseSet<const llvm::Function*> by_themselves_; // free what they are given
};

} // namespace leakline
