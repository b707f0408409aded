// The loss in memory behind which a block is followed: a store that is about to
// overwrite a reference to it.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "os/world.h"
#include "process/watch_list.h"

// Whether a store overwrites a word that points into [start, end]. `bias` is that of
// its module, `registers` are those before it.
bool ll_trigger_overwrites(const struct ll_watch_store* store, uintptr_t bias,
                           const struct ll_registers* registers, uintptr_t start,
                           uintptr_t end);
