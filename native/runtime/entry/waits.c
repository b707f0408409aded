// Whoever waits for children of every kind, as debuggers do, would be told of the
// companion of lens `pages`, or wait for its end: it ends before.
#include <stdbool.h>
#include <sys/wait.h>

#include "base/attributes.h"
#include "entry/real.h"
#include "lens/pages.h"

static void before_wait(bool is_for_one, int options) {
    if (!is_for_one && ((unsigned)options & (__WALL | __WCLONE)) != 0) {
        ll_pages_waits_for_all();
    }
}

LL_EXPORT pid_t waitpid(pid_t pid, int* status, int options) {
    before_wait(pid > 0, options);
    return ll_real()->waitpid(pid, status, options);
}

LL_EXPORT pid_t wait4(pid_t pid, int* status, int options, struct rusage* usage) {
    before_wait(pid > 0, options);
    return ll_real()->wait4(pid, status, options, usage);
}

LL_EXPORT int waitid(idtype_t kind, id_t id, siginfo_t* told, int options) {
    before_wait(kind == P_PID, options);
    return ll_real()->waitid(kind, id, told, options);
}
