"""Losses that are none: a short C++ string refers to a buffer inside of itself.

When it becomes longer, that reference is overwritten. It was one of the block that holds
the string to itself, which keeps nothing alive.
"""

import re

from leakline.model.stack import Stack

_STRING = re.compile(r"(void )?std::(__cxx11::)?(w?string|basic_string<[^()]*>)::")


def is_own_buffer(loss: Stack, allocation: Stack) -> bool:
    """Whether a string overwrote the reference, and what is lost is no string's text."""
    return _is_of_string(loss) and not _is_of_string(allocation)


def _is_of_string(stack: Stack) -> bool:
    """Whether the innermost function is a string's, and the rest of it inlined."""
    for frame in stack.frames:
        if _STRING.match(frame.function):
            return True
        if not frame.function.startswith(_ALLOCATING) and not frame.inlined:
            return False
    return False


# What a string calls for its text.
_ALLOCATING = ("std::__new_allocator", "std::allocator_traits", "std::allocator<")
