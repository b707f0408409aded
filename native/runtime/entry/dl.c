// dlclose: the code of unloaded libraries keeps its name in stacks, and what their
// variables held is lost here. dlopen is left alone, since what it finds depends on who
// calls it.
#include "base/attributes.h"
#include "entry/patching.h"
#include "entry/real.h"
#include "entry/site.h"
#include "lens/stamps.h"
#include "stack/stack.h"

LL_EXPORT int dlclose(void* handle);

LL_EXPORT int dlclose(void* handle) {
    uint32_t outer = ll_unloading_site;
    ll_unloading_site = LL_UNLIKELY(ll_stamps_on) ? LL_SITE() : 0;
    if (ll_unloading_site != 0) {
        // It is held while destructors run, whatever they capture.
        ll_stack_keep_nodes();
    }
    int result = ll_real()->dlclose(handle);
    ll_unloading_site = outer;
    ll_stack_modules_changed();
    return result;
}
