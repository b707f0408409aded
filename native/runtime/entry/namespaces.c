// Functions that the kernel refuses to a process with more than one thread. The
// runtime's own thread, which only lens `accesses` has, ends before them and begins
// anew.
#include <sched.h>

#include "arm/schedule.h"
#include "base/attributes.h"
#include "entry/real.h"
#include "lens/touches.h"

LL_EXPORT int unshare(int flags) {
    if (!ll_touches_on) {
        return ll_real()->unshare(flags);
    }
    ll_schedule_pause();
    int result = ll_real()->unshare(flags);
    ll_schedule_resume();
    return result;
}

LL_EXPORT int setns(int file, int kind) {
    if (!ll_touches_on) {
        return ll_real()->setns(file, kind);
    }
    ll_schedule_pause();
    int result = ll_real()->setns(file, kind);
    ll_schedule_resume();
    return result;
}
