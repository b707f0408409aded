#include "entry/real.h"

#include <dlfcn.h>

static struct ll_real functions;
static int looked_up;

const struct ll_real* ll_real(void) {
    if (!__atomic_load_n(&looked_up, __ATOMIC_ACQUIRE)) {
#define REAL(result, name, parameters)                                                 \
    *(void**)&functions.name = dlsym(RTLD_NEXT, #name);
        LL_REAL_FUNCTIONS
#undef REAL
        // A look-up that failed must not be what the program's next dlerror() tells.
        dlerror();
        __atomic_store_n(&looked_up, 1, __ATOMIC_RELEASE);
    }
    return &functions;
}
