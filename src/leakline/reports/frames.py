"""Call stacks as lines of text: function, place, and the source where it matters."""

from collections.abc import Iterator
from typing import NamedTuple

from leakline.model.stack import Frame, Naming, Stack
from leakline.reports.names import readable_name
from leakline.reports.places import (
    first_own_frame,
    frames_worth_showing,
    relative_path,
)
from leakline.reports.printable import printable
from leakline.reports.source import is_newer, source_lines
from leakline.reports.style import Role, Style

_WIDEST_FUNCTION_COLUMN = 40
_NARROWEST = 40
_FOLDED = "... deeper frames are folded ..."


class _Words(NamedTuple):
    """What is printed of a frame: its function, and its place with remarks."""

    name: str
    place: str


class StackPrinter:
    """Prints stacks in one style, and each frame's words are made only once."""

    def __init__(self, style: Style) -> None:
        self._style = style
        # Many stacks share their frame objects, by id, for the life of the report.
        self._words: dict[int, _Words] = {}
        self._sources: dict[tuple[int, str], tuple[str, ...]] = {}

    def stack(self, stack: Stack, indent: str) -> Iterator[str]:
        """The frames, innermost first, each on a line."""
        yield from self._lines(stack, indent, explained=None)

    def allocation(self, stack: Stack, indent: str) -> Iterator[str]:
        """As `stack`, with the source of the user's first own frame below it."""
        yield from self._lines(stack, indent, explained=first_own_frame(stack))

    def name(self, frame: Frame) -> str:
        """The function as people write it."""
        return printable(readable_name(frame.function)) or "??"

    def place(self, frame: Frame) -> str:
        """Where the frame is: file and line, else module and offset."""
        if frame.file:
            file = printable(relative_path(frame.file, self._style.folder))
            return f"{file}:{frame.line}" if frame.line else file
        if frame.module:
            module = printable(frame.module.rpartition("/")[2] or frame.module)
            return f"{module}+{frame.offset:#x}"
        return f"{frame.offset:#x}" if frame.offset else "?"

    def _lines(
        self, stack: Stack, indent: str, explained: Frame | None
    ) -> Iterator[str]:
        verbose = self._style.verbose
        frames = stack.frames if verbose else frames_worth_showing(stack)
        words = [self._words_of(frame) for frame in frames]
        column = _function_column(words)
        for index, frame in enumerate(frames):
            if index == stack.folded_at:
                yield indent + self._quiet(_FOLDED)
            yield indent + self._line(words[index], column, len(indent))
            if verbose or frame is explained:
                yield from self._source_of(frame, indent)
        if stack.folded_at == len(frames):
            yield indent + self._quiet(_FOLDED)
        if stack.stopped:
            why = f"(the stack ends here: {printable(stack.stopped)})"
            yield indent + self._quiet(why)
        if not frames and not stack.stopped:
            yield indent + self._quiet("(no call stack)")

    def _words_of(self, frame: Frame) -> _Words:
        words = self._words.get(id(frame))
        if words is None:
            place = self.place(frame) + self._address(frame) + _remark(frame)
            words = _Words(self.name(frame), place)
            self._words[id(frame)] = words
        return words

    def _address(self, frame: Frame) -> str:
        """Where the code lies, beside where its source does."""
        if not (self._style.verbose and frame.file and frame.module):
            return ""
        module = printable(frame.module.rpartition("/")[2] or frame.module)
        return f"  {module}+{frame.offset:#x}"

    def _source_of(self, frame: Frame, indent: str) -> tuple[str, ...]:
        lines = self._sources.get((id(frame), indent))
        if lines is None:
            lines = tuple(self._source(frame, indent))
            self._sources[id(frame), indent] = lines
        return lines

    def _line(self, words: _Words, column: int, used: int) -> str:
        name, place = words
        style = self._style
        if style.width is not None:
            name = _shorten(name, max(_NARROWEST, style.width - used - len(place) - 2))
        padding = " " * (column - len(name))
        painted = style.paint(name, Role.TITLE)
        return f"{painted}{padding}  {style.paint(place, Role.PLACE)}"

    def _source(self, frame: Frame, indent: str) -> Iterator[str]:
        if not self._style.with_source:
            return
        originals = self._style.originals
        file = originals.get(frame.file, frame.file)
        module = originals.get(frame.module, frame.module)
        for number, text in source_lines(file, frame.line, self._style.folder):
            here = number == frame.line
            line = f"{indent}  {'>' if here else ' '} {number:>5} | {text}".rstrip()
            line = line[: self._style.width]
            yield line if here else self._quiet(line)
            if here and is_newer(file, module, self._style.folder):
                yield indent + self._quiet("          (changed since it was built)")

    def _quiet(self, text: str) -> str:
        return self._style.paint(text, Role.QUIET)


def _function_column(words: list[_Words]) -> int:
    widths = (len(word.name) for word in words)
    return max((w for w in widths if w <= _WIDEST_FUNCTION_COLUMN), default=0)


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
