#include "lens/condense.h"

#include <stddef.h>
#include <string.h>

#include "format/records.h"
#include "stack/stack.h"

// Frames kept at the outer end, and at the inner end to begin with. The longest stack
// that is followed is beyond what an option allows.
enum { OUTER = 8, INNER = 16, LONGEST = 320 };

bool ll_condense_more(struct ll_condenser* condenser) {
    if (condenser->inner == 1) {
        return false;
    }
    condenser->inner = condenser->inner == 0 ? INNER : condenser->inner / 2;
    memset(condenser->memo, 0, sizeof condenser->memo);
    return true;
}

// The nodes from `node` outwards. Returns their number.
static size_t follow(uint32_t node, uint32_t* path, struct ll_node* nodes) {
    size_t length = 0;
    while (length < LONGEST && node != 0 && ll_node_get(node, &nodes[length])) {
        path[length] = node;
        node = nodes[length++].parent;
    }
    return length;
}

static uint32_t condense(uint32_t node, unsigned inner) {
    uint32_t path[LONGEST];
    struct ll_node nodes[LONGEST];
    size_t length = follow(node, path, nodes);
    if (length <= OUTER + inner + 1) {
        return node;
    }
    uint32_t made = ll_stack_child(path[length - OUTER], 0, LL_NODE_folded);
    for (size_t i = inner; i-- > 0 && made != 0;) {
        made = ll_stack_child(made, nodes[i].pc, nodes[i].flags);
    }
    // Without memory for the new nodes the old stack has to do.
    return made == 0 ? node : made;
}

uint32_t ll_condense(struct ll_condenser* condenser, uint32_t node) {
    if (condenser->inner == 0 || node == 0) {
        return node;
    }
    uint32_t place = node % LL_CONDENSE_MEMO;
    if (condenser->memo[place].node != node) {
        condenser->memo[place].condensed = condense(node, condenser->inner);
        condenser->memo[place].node = node;
    }
    return condenser->memo[place].condensed;
}
