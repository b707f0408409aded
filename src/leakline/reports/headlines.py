"""A finding in one line, and the one place where a reader should look first."""

from pathlib import Path
from typing import NamedTuple

from leakline.model.finding import Engine, Finding
from leakline.model.stack import Frame, Stack
from leakline.reports.calls import label
from leakline.reports.places import first_own_frame, relative_path
from leakline.reports.printable import printable
from leakline.reports.quantities import bytes_in_words, plural


class Place(NamedTuple):
    """A place in a source file; the line and column are 0 when they are not known."""

    file: str
    line: int
    column: int = 0


def amount(finding: Finding) -> str:
    """How much leaked, in words."""
    text = f"{bytes_in_words(finding.bytes)} in {plural(finding.blocks, 'block')}"
    if finding.indirect_blocks:
        size = bytes_in_words(finding.indirect_bytes)
        blocks = plural(finding.indirect_blocks, "block")
        text += f", and with them {size} in {blocks}"
    return text


def headline(finding: Finding) -> str:
    """What is wrong, how much of it, and who allocated it."""
    frame = allocating_frame(finding)
    allocated = f", allocated by {label(frame)}" if frame else ""
    both = " (confirmed by both)" if is_confirmed_by_both(finding) else ""
    return f"{finding.kind.value}{both}: {amount(finding)}{allocated}"


def is_confirmed_by_both(finding: Finding) -> bool:
    """Whether a run lost the blocks and the checker found the path to it."""
    return Engine.STATIC in finding.engines and len(finding.engines) > 1


def allocating_frame(finding: Finding) -> Frame | None:
    """The user's own function that allocated the blocks, else the innermost one."""
    stack = finding.allocation
    return first_own_frame(stack) or next(iter(stack.frames), None)


def place_to_mend(finding: Finding, folder: Path) -> Place | None:
    """The end of the path, else the loss, else the allocation; None without a file."""
    if finding.path:
        last = finding.path[-1]
        return _place(last.file, last.line, last.column, folder)
    frame = frame_to_mend(finding)
    return _place(frame.file, frame.line, frame.column, folder) if frame else None


def frame_to_mend(finding: Finding) -> Frame | None:
    """The user's own frame of the loss, else of the allocation, if it has a file."""
    stacks = [finding.loss.stack] if finding.loss else []
    frames = (frame_with_file(stack) for stack in [*stacks, finding.allocation])
    return next((frame for frame in frames if frame), None)


def frame_with_file(stack: Stack) -> Frame | None:
    """The user's own frame nearest to the event, else any whose file is known."""
    own = first_own_frame(stack)
    if own and own.file:
        return own
    return next((frame for frame in stack.frames if frame.file), None)


def _place(file: str, line: int, column: int, folder: Path) -> Place:
    return Place(printable(relative_path(file, folder)), line, column)
