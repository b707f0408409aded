// The variables of a function that can hold references: its *slots*.
#pragma once
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

#include <vector>

namespace leakline {

// The offsets of words that may hold a pointer in a value of a type: pointers and the
// words of unions. Empty when it holds none.
std::vector<uint64_t> pointer_offsets(llvm::Type* type, const llvm::DataLayout& layout);

// The address behind steps to members and elements.
llvm::Value* base_of(llvm::Value* address);

struct Slot {
    llvm::AllocaInst* place;
    std::vector<uint64_t> offsets; // of its words that may hold pointers
    llvm::SmallVector<llvm::IntrinsicInst*> starts; // of its scope
    llvm::SmallVector<llvm::IntrinsicInst*> ends;   // none: ends with the function
};

struct Slots {
    std::vector<Slot> variables; // only ever read and written by name
    std::vector<Slot> in_memory; // aggregates, and those whose address is taken
    llvm::DenseMap<llvm::Value*, unsigned> number; // of a variable, by its place

    // Room of the compiler's own, whose contents are on their way elsewhere; true when
    // that is the caller.
    llvm::DenseMap<llvm::Value*, bool> passing;

    // The last uses of results that nobody keeps.
    llvm::DenseSet<const llvm::Instruction*> ends_of_results;

    // Of calls that free blocks: the slots that were read to name them. Until then they
    // still have the same value.
    llvm::DenseMap<const llvm::Instruction*,
                   llvm::SmallVector<std::pair<llvm::AllocaInst*, uint64_t>, 1>>
        releases;

    // Of calls that may do so: the slots that were read for their arguments, and those
    // in aggregates that they are given the address of.
    llvm::MapVector<llvm::CallBase*,
                    llvm::SmallVector<std::pair<llvm::AllocaInst*, uint64_t>, 1>>
        possible_releases;

    // Code that runs before and after their scopes may ask what variables hold.
    bool outlive_scopes = false;

    bool is_in_memory(const llvm::Value* place) const;
};

Slots find_slots(llvm::Function& function);

} // namespace leakline
