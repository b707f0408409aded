#include "facts_only_read.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Operator.h"

using namespace llvm;

namespace leakline {

// Whether memory behind the address is only read by this use of it. `places` receives
// further addresses that were made from it.
static bool only_reads(const Use& use, SmallVectorImpl<const Value*>& places) {
    const User* user = use.getUser();
    if (isa<LoadInst>(user)) {
        return true;
    }
    if (const auto* copy = dyn_cast<MemTransferInst>(user)) {
        return use.get() == copy->getRawSource() && use.get() != copy->getRawDest();
    }
    if (isa<GEPOperator>(user) || isa<BitCastOperator>(user)) {
        places.push_back(user);
        return true;
    }
    return isa<ICmpInst>(user);
}

bool is_only_read(const GlobalVariable& global) {
    SmallVector<const Value*, 8> places = {&global};
    SmallPtrSet<const Value*, 8> seen;
    while (!places.empty()) {
        const Value* place = places.pop_back_val();
        if (!seen.insert(place).second) {
            continue;
        }
        for (const Use& use : place->uses()) {
            if (!only_reads(use, places)) {
                return false;
            }
        }
    }
    return !global.isExternallyInitialized();
}

} // namespace leakline
