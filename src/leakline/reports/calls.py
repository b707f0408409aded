"""Stacks as profile viewers take them: from the outermost call to the innermost."""

from leakline.model.stack import Frame, Stack
from leakline.reports.names import readable_name
from leakline.reports.places import frames_worth_showing
from leakline.reports.printable import printable

# Stands for the calls that a deep recursion made and the recording folded.
FOLDED = Frame("(folded)")


def outermost_first(stack: Stack) -> tuple[Frame, ...]:
    """The frames of a stack, start-up code left out, folded calls as one frame."""
    frames = list(frames_worth_showing(stack))
    if stack.folded_at is not None:
        frames.insert(min(stack.folded_at, len(frames)), FOLDED)
    return tuple(reversed(frames))


def label(frame: Frame) -> str:
    """The function's name, else where the call is."""
    if frame.function:
        return printable(readable_name(frame.function))
    if frame.module:
        return printable(f"{frame.module.rpartition('/')[2]}+{frame.offset:#x}")
    return "??"
