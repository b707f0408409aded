// The nodes of levels: the frames that the fold keeps, looked up in the trie.
#include "format/records.h"
#include "stack/fold.h"
#include "stack/levels.h"
#include "stack/trie.h"

struct ll_fold ll_fold = {.depth = 64, .outer = 16, .step = 16};

void ll_fold_set_depth(unsigned depth) {
    uint32_t quarter = depth / 4;
    ll_fold = (struct ll_fold){depth, quarter, quarter != 0 ? quarter : 1};
}

// A walk that ended for its depth says so in a node of its own, since the frame where
// it happened to end means nothing.
static bool is_too_deep(const struct ll_walker* walker) {
    return walker->outermost.reason == LL_STOP_depth;
}

static uint32_t too_deep_node(void) {
    return ll_trie_child(0, ll_node_key_of(0, LL_NODE_stopped, LL_STOP_depth));
}

static ll_node_key outermost_key(const struct ll_walker* walker, uintptr_t pc,
                                 unsigned flags) {
    return ll_node_key_of(pc, flags | walker->outermost.flags,
                          walker->outermost.reason);
}

static uint32_t folded_child(uint32_t parent) {
    return parent == 0 ? 0
                       : ll_trie_child(parent, ll_node_key_of(0, LL_NODE_folded, 0));
}

// A recursion that branches has as many stacks as it has calls: a tree of a million
// leaves would make a million. When the trie has become large, further levels of a
// recursion share the node of one: of each call only so many are told apart.
enum { LARGE = 1 << 16, LARGER = 1 << 18, LARGEST = 1 << 20, SEARCHED_LEVELS = 256 };

static uint32_t recursion_kept(uint32_t nodes) {
    return nodes >= LARGEST ? 1 : nodes >= LARGER ? 2 : 4;
}

// The innermost one of the calls at `pc` that are told apart; `index` if there are not
// more of them.
static uint32_t recursion_anchor(const struct ll_walker* walker, uint32_t index) {
    uint32_t kept = recursion_kept(ll_node_count());
    uint32_t limit = index < SEARCHED_LEVELS ? index : SEARCHED_LEVELS;
    for (uint32_t i = 1; i < limit && walker->dropped == 0; i++) {
        if (walker->levels[i].pc == walker->levels[index].pc && --kept == 0) {
            return i;
        }
    }
    return index;
}

LL_NOINLINE uint32_t ll_level_make_child(struct ll_walker* walker, uint32_t parent,
                                         uint32_t index) {
    ll_node_key key = ll_node_key_of(walker->levels[index].pc, 0, 0);
    uint32_t anchor = ll_node_count() < LARGE ? index : recursion_anchor(walker, index);
    if (anchor == index) {
        return ll_trie_child(parent, key);
    }
    walker->folded_recursion = true;
    uint32_t fold = folded_child(ll_level_node(walker, anchor));
    return fold == 0 ? 0 : ll_trie_child(fold, key);
}

static uint32_t outermost_node(const struct ll_walker* walker) {
    uintptr_t pc = walker->levels[0].pc;
    if (is_too_deep(walker)) {
        return ll_trie_child(too_deep_node(), ll_node_key_of(pc, 0, 0));
    }
    return ll_trie_child(0, outermost_key(walker, pc, 0));
}

// Looks up the nodes of levels [first, last], the first one's parent being `parent`.
// Levels from `own` on take theirs; for those before it is not the whole stack's.
static uint32_t look_up(struct ll_walker* walker, uint32_t parent, uint32_t first,
                        uint32_t last, uint32_t own) {
    for (uint32_t i = first; i <= last; i++) {
        parent = i == 0 ? outermost_node(walker) : ll_level_child(walker, parent, i);
        if (parent == 0) {
            return 0;
        }
        if (i >= own) {
            walker->levels[i].node = parent;
        }
    }
    return parent;
}

// The first level whose node is still to be found, going inwards from `start`.
static uint32_t first_without_node(const struct ll_walker* walker, uint32_t start,
                                   uint32_t index) {
    while (index > start && walker->levels[index - 1].node == 0) {
        index--;
    }
    return index;
}

static uint32_t unfolded_node(struct ll_walker* walker, uint32_t index) {
    uint32_t first = first_without_node(walker, 0, index);
    uint32_t parent = first == 0 ? 0 : walker->levels[first - 1].node;
    return look_up(walker, parent, first, index, 0);
}

static uint32_t fold_parent(struct ll_walker* walker) {
    if (is_too_deep(walker)) {
        return too_deep_node();
    }
    if (ll_fold.outer == 0) {
        return 0;
    }
    uint32_t last = ll_fold.outer - 1;
    uint32_t node = walker->levels[last].node;
    return node != 0 ? node : unfolded_node(walker, last);
}

// `end` counts all frames, levels only those that were not dropped.
static uint32_t folded_node(struct ll_walker* walker, uint32_t index, uint32_t end) {
    uint32_t own = ll_fold_shortest(end) - 1 - walker->dropped;
    uint32_t first = first_without_node(walker, own, index);
    if (first > own) {
        return look_up(walker, walker->levels[first - 1].node, first, index, own);
    }
    uint32_t parent = fold_parent(walker);
    uint32_t fold = ll_fold.outer == 0 && parent == 0
                        ? ll_trie_child(0, ll_node_key_of(0, LL_NODE_folded, 0))
                        : folded_child(parent);
    return fold == 0 ? 0 : look_up(walker, fold, end - walker->dropped, index, own);
}

LL_NOINLINE uint32_t ll_level_find_node(struct ll_walker* walker, uint32_t index) {
    uint32_t dropped = index >= ll_fold.outer ? walker->dropped : 0;
    uint32_t end = ll_fold_end(index + 1 + dropped);
    return end == 0 ? unfolded_node(walker, index) : folded_node(walker, index, end);
}

// Counts from the outermost frame, as the fold does.
static ll_node_key frame_key(const struct ll_walker* walker, uint32_t index) {
    const struct ll_frame* frame = &walker->frames[walker->frame_count - 1 - index];
    if (index == 0 && !is_too_deep(walker)) {
        return outermost_key(walker, frame->pc, frame->flags);
    }
    return ll_node_key_of(frame->pc, frame->flags, 0);
}

uint32_t ll_frames_node(const struct ll_walker* walker) {
    uint32_t count = walker->frame_count;
    uint32_t end = ll_fold_end(count);
    uint32_t node = is_too_deep(walker) ? too_deep_node() : 0;
    uint32_t outer = end == 0 || is_too_deep(walker) ? 0 : ll_fold.outer;
    for (uint32_t i = 0; i < count; i++) {
        if (end != 0 && i == outer) {
            node = ll_trie_child(node, ll_node_key_of(0, LL_NODE_folded, 0));
            i = end;
        }
        node = ll_trie_child(node, frame_key(walker, i));
        if (node == 0) {
            return 0;
        }
    }
    return node;
}
