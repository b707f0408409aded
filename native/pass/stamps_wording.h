// What the words of names mean.
#pragma once
#include "llvm/ADT/StringRef.h"

namespace leakline {

// True for names of what may free blocks: `parser_destroy`, `xClose`, `listfree`.
bool says_release(llvm::StringRef name);

} // namespace leakline
