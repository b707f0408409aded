// What code that `leakline cc` compiled with births calls when a slot in memory loses
// or gets a reference (format/sites.md).
#pragma once

// Lets such code call, after ll_births_start.
void ll_site_hooks_start(void);
