// Blocks freed by a thread that does not own their span. They wait in the span's
// `remote` list; the span waits in its owner's list of pending spans. Nothing here
// takes a lock, so a signal handler may come in anywhere.
#pragma once
#include "heap/local.h"

// Frees the block at `index`; false when none lives there.
bool ll_remote_free(struct ll_span* span, uint32_t index);

// Moves the blocks that others freed to the span's own list. By its owner, or under the
// lock of the units when it has none.
void ll_remote_collect(struct ll_span* span);

// Looks after all spans pending for `heap`, in the thread that owns it.
void ll_remote_collect_pending(struct ll_heap* heap);

// Passes spans that are pending for a heap which has no thread any more to the heaps
// that own them now.
void ll_remote_forward_pending(struct ll_heap* heap);

// Makes the owner look at the span.
void ll_remote_notify(struct ll_span* span);
