#include "stamps_callees.h"

#include "llvm/Demangle/Demangle.h"

namespace leakline {

bool is_destructor(llvm::StringRef name) {
    if (!name.ends_with("Ev") || !name.drop_back(3).ends_with("D")) {
        return false; // which is quicker to tell
    }
    llvm::ItaniumPartialDemangler demangler;
    return !demangler.partialDemangle(name.str().c_str()) && demangler.isCtorOrDtor();
}

bool is_deleting_destructor(llvm::StringRef name) {
    return name.ends_with("D0Ev") && is_destructor(name);
}

} // namespace leakline
