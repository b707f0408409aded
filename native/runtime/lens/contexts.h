// Calling contexts of compiled stamps (format/sites.md): a number for each chain of
// calls, and the stack that was taken when the first stamp with it was written.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "heap/heap.h"
#include "patch/loss_page.h"

// Lets code that stamps call `hook` with each context that it sees for the first time,
// or again after others took its place in a cache. False when memory ran out: stamps
// then have no stacks.
bool ll_contexts_start(struct ll_loss_page* shared, void (*hook)(uint32_t context));

// Remembers the stack of a context that is new. Takes no lock; safe in signal handlers.
void ll_context_learn(uint32_t context, ll_site stack);

// True when the stack of the context is remembered; it need not be taken again.
LL_IN_HOOK bool ll_context_is_known(uint32_t context);

// The stack of a context; 0 when it is not known.
ll_site ll_context_stack(uint32_t context);
