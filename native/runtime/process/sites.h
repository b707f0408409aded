// The nodes that blocks hold: the stacks of their allocation.
#pragma once

// Lets the trie of stacks give up those that no block holds any more. Only for runs in
// which no lens keeps nodes of its own.
void ll_sites_let_sweep(void);
