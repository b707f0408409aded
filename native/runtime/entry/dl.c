// dlclose: the code of unloaded libraries keeps its name in stacks. dlopen is left
// alone, since what it finds depends on who calls it.
#include "base/attributes.h"
#include "entry/real.h"
#include "stack/stack.h"

LL_EXPORT int dlclose(void* handle);

LL_EXPORT int dlclose(void* handle) {
    int result = ll_real()->dlclose(handle);
    ll_stack_modules_changed();
    return result;
}
