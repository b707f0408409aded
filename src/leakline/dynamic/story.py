"""Where a free would have been right: from a block's last use until it was lost."""

from leakline.model.finding import Finding, Kind
from leakline.model.stack import Frame, Stack


def release_window(finding: Finding) -> str | None:
    """A sentence about the program points at which a free was possible, if known."""
    loss, used = finding.loss, finding.last_access
    if finding.kind is not Kind.LOST or loss is None or used is None:
        return None
    if not loss.stack.frames or not used.frames:
        return None
    first, last = _parting(used, loss.stack) or (used.frames[0], loss.stack.frames[0])
    if not (first.line and last.line):
        return None
    if (first.function, first.file) == (last.function, last.file):
        where = f"in `{first.function}`, from line {first.line} to line {last.line}"
    else:
        where = f"from {_place(first)} to {_place(last)}"
    return (
        f"a free would have been right between its last use that was seen and its loss: "
        f"{where}"
    )


def _parting(used: Stack, lost: Stack) -> tuple[Frame, Frame] | None:
    """The frames of the innermost function that was running at both times.

    The stack of a loss may lack its outer frames, so they are not compared.
    """
    running = {(frame.function, frame.file): frame for frame in reversed(used.frames)}
    for frame in lost.frames:
        earlier = running.get((frame.function, frame.file))
        if earlier is not None and frame.function:
            return earlier, frame
    return None


def _place(frame: Frame) -> str:
    name = f"`{frame.function}` at " if frame.function else ""
    return f"{name}{frame.file}:{frame.line}"
