// What debug information tells of local variables.
#pragma once

namespace llvm {
class Module;
} // namespace llvm

namespace leakline {

// Notes have the names of variables that they need; reports look for others only where
// a container is freed. All else is forgotten but lines, functions, global variables
// and types: optimised code with many branches is compiled sooner when nobody follows
// where each variable is.
void forget_local_variables(llvm::Module& module);

} // namespace leakline
