// The nodes that blocks hold: the stacks of their allocation, and those in their
// stamps.
#pragma once

// Lets the trie of stacks give up those that no block holds any more. Whoever begins to
// keep nodes elsewhere ends that by ll_stack_keep_nodes.
void ll_sites_let_sweep(void);
