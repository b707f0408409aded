"""Where a thread ended of which only the first function is known.

For threads of the C++ library that function is the library's; the program's own is on
the stack of what was allocated in such a thread.
"""

import re
from dataclasses import replace

from leakline.model.stack import Frame, Stack

_INSTALLED = re.compile(r"/usr/(?!local/|src/)|/lib(32|64|x32)?/")


def first_function(stack: Stack) -> Stack:
    """The first frame of a thread, without the line, which is not known."""
    return replace(stack, frames=(_without_line(stack.frames[0]),))


def program_function(stack: Stack, allocation: Stack) -> Stack | None:
    """The program's function of a thread that a library began, if that is likely.

    Args:
        stack: The thread's first function.
        allocation: Of a block that the thread held.
    """
    first = stack.frames[0]
    if not _is_installed(first):
        return None
    frames = list(allocation.frames)
    while frames and not _is_same_function(frames[-1], first):
        frames.pop()
    own = [index for index, frame in enumerate(frames) if not _is_installed(frame)]
    if not own:
        return None
    found = _without_line(frames[own[-1]])
    return Stack((found, *frames[own[-1] + 1 :]))


def _without_line(frame: Frame) -> Frame:
    return replace(frame, line=0, column=0)


def _is_installed(frame: Frame) -> bool:
    return bool(_INSTALLED.match(frame.file or frame.module))


def _is_same_function(one: Frame, other: Frame) -> bool:
    return (one.module, one.function) == (other.module, other.function)
