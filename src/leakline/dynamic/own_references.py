"""Overwritten references that kept nothing alive: those of a C++ object to itself.

A short string refers to a buffer inside of itself, an empty container to its own header.
The first long text or element overwrites that reference, which was one of the block that
holds the object to the block itself. Inserting an element loses nothing else, either.
"""

import re

from leakline.model.stack import Stack

_STRING = re.compile(r"(void )?std::(__cxx11::)?(w?string|basic_string<[^()]*>)::")
_INSERTING = re.compile(
    r"std::_Rb_tree_insert_and_rebalance\(|std::__detail::_List_node_base::_M_hook\("
    r"|std::_Hashtable<.*>::_M_rehash"
)
# What a string calls for its text.
_ALLOCATING = ("std::__new_allocator", "std::allocator_traits", "std::allocator<")


def is_own_reference(loss: Stack, allocation: Stack) -> bool:
    """Whether a store overwrote a reference of the lost block to itself.

    Args:
        loss: The call stack of the store.
        allocation: Of the lost block; the text of a string does not refer to itself.
    """
    if loss.frames and _INSERTING.match(loss.frames[0].function):
        return True
    return _is_of_string(loss) and not _is_of_string(allocation)


def _is_of_string(stack: Stack) -> bool:
    """Whether a string's function is innermost, but for inlined and allocating calls."""
    for frame in stack.frames:
        if _STRING.match(frame.function):
            return True
        if not frame.function.startswith(_ALLOCATING) and not frame.inlined:
            return False
    return False
