// Whether this processor sees a locked write within a cache line of code as a whole
// while it runs that code: manuals promise it for data only.
#pragma once
#include <stdbool.h>

// Changes an instruction while the calling thread runs it, for less than a millisecond,
// on the runtime's own thread. False when a mixture of old and new was ever run. Both
// instructions and all mixtures of them do no harm.
bool ll_probe_code_changes_whole(void);
