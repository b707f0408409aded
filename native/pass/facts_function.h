// The header and body lines of one function.
#pragma once

#include "facts_unit.h"

namespace leakline {

void write_function(llvm::raw_ostream& stream, UnitContext& unit,
                    llvm::Function& function);

} // namespace leakline
