// Places of the source, compared.
#pragma once
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DebugLoc.h"

namespace leakline {

inline bool is_same_place(llvm::DebugLoc a, llvm::DebugLoc b) {
    return a && b && a.getLine() == b.getLine() && a.getCol() == b.getCol();
}

inline bool are_in_same_file(llvm::DebugLoc a, llvm::DebugLoc b) {
    return llvm::cast<llvm::DIScope>(a.getScope())->getFile() ==
           llvm::cast<llvm::DIScope>(b.getScope())->getFile();
}

inline bool is_on_same_line(llvm::DebugLoc a, llvm::DebugLoc b) {
    return a && b && a.getLine() == b.getLine() && are_in_same_file(a, b);
}

inline bool is_on_later_line(llvm::DebugLoc place, llvm::DebugLoc than) {
    return place && than && place.getLine() > than.getLine() &&
           are_in_same_file(place, than);
}

} // namespace leakline
