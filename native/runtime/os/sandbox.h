// What a process that is about to limit its own system calls (seccomp) will still be
// able to do. A filter that ends the process at a call it does not know would end it
// because of us.
#pragma once
#include <linux/filter.h>
#include <stdbool.h>

// True when none of the calls that a look makes is fatal under the filter. Calls that
// merely fail are no harm. Arguments are taken as 0, as filters look at few of them.
bool ll_sandbox_permits_looks(const struct sock_fprog* filter);
