"""Call stacks as lines of text: function, place, and the source where it matters."""

from collections.abc import Iterator

from leakline.model.stack import Frame, Naming, Stack
from leakline.reports.places import (
    first_own_frame,
    frames_worth_showing,
    relative_path,
)
from leakline.reports.printable import printable
from leakline.reports.source import source_lines
from leakline.reports.style import Role, Style

_WIDEST_FUNCTION_COLUMN = 40
_NARROWEST = 40


def stack_lines(stack: Stack, style: Style, indent: str) -> Iterator[str]:
    """The frames, innermost first, each on a line."""
    yield from _lines(stack, style, indent, explained=None)


def allocation_lines(stack: Stack, style: Style, indent: str) -> Iterator[str]:
    """As `stack_lines`, with the source of the user's first own frame below it."""
    yield from _lines(stack, style, indent, explained=first_own_frame(stack))


def place_of(frame: Frame, style: Style) -> str:
    """Where the frame is: file and line, else module and offset."""
    if frame.file:
        file = printable(relative_path(frame.file, style.folder))
        return f"{file}:{frame.line}" if frame.line else file
    if frame.module:
        module = printable(frame.module.rpartition("/")[2] or frame.module)
        return f"{module}+{frame.offset:#x}"
    return f"{frame.offset:#x}" if frame.offset else "?"


def _lines(
    stack: Stack, style: Style, indent: str, explained: Frame | None
) -> Iterator[str]:
    frames = frames_worth_showing(stack)
    column = _function_column(frames)
    for index, frame in enumerate(frames):
        if index == stack.folded_at:
            yield indent + style.paint("... deeper frames are folded ...", Role.QUIET)
        yield indent + _frame_line(frame, column, style, len(indent))
        if frame is explained:
            yield from _source(frame, style, indent)
    if stack.folded_at == len(frames):
        yield indent + style.paint("... deeper frames are folded ...", Role.QUIET)
    if stack.stopped:
        why = f"(the stack ends here: {printable(stack.stopped)})"
        yield indent + style.paint(why, Role.QUIET)
    if not frames and not stack.stopped:
        yield indent + style.paint("(no call stack)", Role.QUIET)


def _function_column(frames: tuple[Frame, ...]) -> int:
    widths = [len(_name(frame)) for frame in frames]
    fitting = [width for width in widths if width <= _WIDEST_FUNCTION_COLUMN]
    return max(fitting, default=0)


def _frame_line(frame: Frame, column: int, style: Style, used: int) -> str:
    place = place_of(frame, style) + _remark(frame)
    name = _name(frame)
    if style.width is not None:
        name = _shorten(name, max(_NARROWEST, style.width - used - len(place) - 2))
    padding = " " * max(0, column - len(name))
    painted = style.paint(name, Role.TITLE)
    return f"{painted}{padding}  {style.paint(place, Role.PLACE)}"


def _name(frame: Frame) -> str:
    return printable(frame.function) or "??"


def _remark(frame: Frame) -> str:
    if frame.inlined:
        return "  (inlined)"
    if frame.naming is Naming.NEAREST:
        return "  (nearest symbol)"
    return ""


def _shorten(name: str, cells: int) -> str:
    """Takes out the middle: both the namespace and the method's end tell something."""
    if len(name) <= cells:
        return name
    head = (cells - 3) // 2
    return f"{name[:head]}...{name[len(name) - (cells - 3 - head) :]}"


def _source(frame: Frame, style: Style, indent: str) -> Iterator[str]:
    for number, text in source_lines(frame.file, frame.line, style.folder):
        here = number == frame.line
        line = f"{indent}  {'>' if here else ' '} {number:>5} | {text}".rstrip()
        if style.width is not None:
            line = line[: style.width]
        yield line if here else style.paint(line, Role.QUIET)
