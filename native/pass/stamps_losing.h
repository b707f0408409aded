// Which instructions and functions may remove a reference from memory. Where none can,
// a variable that was copied from memory is not the last to hold what it holds.
#pragma once
#include "stamps_freeing.h"
#include "stamps_possible.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

#include <vector>

namespace leakline {

// True for stores that may overwrite a pointer: of pointers, of values that contain
// some, and of 8 bytes that may lie in a union or be a pointer as a number.
bool may_overwrite_pointer(const llvm::StoreInst& store);

// True when copying or filling may overwrite pointers.
bool may_overwrite_pointers(const llvm::AnyMemIntrinsic& copy);

// The arguments of inline assembly that are places of pointers which it writes and does
// not read.
std::vector<unsigned> replaced_outputs(const llvm::CallBase& call);

class Losing {
  public:
    explicit Losing(llvm::Module& module);

    bool may_lose(const llvm::CallBase& call) const;

    const Freeing& freeing() const {
        return freeing_;
    }

    const PossibleFreeing& possible_freeing() const {
        return possible_;
    }

  private:
    bool body_may_lose(llvm::Function& function) const;

    Freeing freeing_;
    PossibleFreeing possible_;
    llvm::DenseSet<const llvm::Function*> harmless_;
};

// A function of a library that keeps what its caller can reach as it is.
bool is_harmless_library_function(llvm::StringRef name);

} // namespace leakline
