"""The tables that samples of a pprof profile refer to by number.

A *mapping* is a module, a *function* a name in a file, a *location* an address: one call
with the calls that were inlined at it. All numbers start at 1.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from leakline.model.stack import Frame, Stack
from leakline.reports.calls import label, outermost_first
from leakline.reports.places import relative_path
from leakline.reports.printable import printable
from leakline.reports.protobuf import message, number, text


class Tables:
    """Numbers strings, mappings, functions and locations as they are asked for."""

    def __init__(self, folder: Path, program: str, stacks: Iterable[Stack]) -> None:
        self._folder = folder
        self._strings: dict[str, int] = {"": 0}
        self._mappings: dict[str, int] = {}
        self._functions: dict[tuple[str, str, str], int] = {}
        self._locations: dict[tuple[Frame, ...], int] = {}
        self._location_fields: list[bytes] = []
        self._number_program_first(program, stacks)

    def string(self, value: str) -> int:
        """The index of a text in the table of strings."""
        return self._strings.setdefault(printable(value), len(self._strings))

    def locations(self, stack: Stack) -> list[int]:
        """The locations of a stack, innermost first."""
        return [self._location(calls) for calls in _calls_by_address(stack)]

    def fields(self) -> bytes:
        """The tables as fields of a profile."""
        mappings = [message(3, self._mapping(*item)) for item in self._mappings.items()]
        locations = [message(4, content) for content in self._location_fields]
        functions = [
            message(5, self._function(*item)) for item in self._functions.items()
        ]
        strings = [text(6, value) for value in self._strings]
        return b"".join([*mappings, *locations, *functions, *strings])

    def _number_program_first(self, program: str, stacks: Iterable[Stack]) -> None:
        """Readers take the first mapping for the program."""
        modules = [frame.module for stack in stacks for frame in stack.frames]
        named_alike = (one for one in modules if _last(one) == _last(program))
        first = next(named_alike, "")
        if first:
            self._mappings[first] = 1

    def _location(self, calls: tuple[Frame, ...]) -> int:
        known = self._locations.get(calls)
        if known is not None:
            return known
        index = self._locations[calls] = len(self._locations) + 1
        module, address = calls[-1].module, calls[-1].offset
        mapping = (
            self._mappings.setdefault(module, len(self._mappings) + 1) if module else 0
        )
        lines = (message(4, self._line(frame)) for frame in calls)
        content = number(1, index) + number(2, mapping) + number(3, address)
        self._location_fields.append(content + b"".join(lines))
        return index

    def _line(self, frame: Frame) -> bytes:
        file = relative_path(frame.file, self._folder)
        key = (label(frame), frame.symbol or frame.function, file)
        function = self._functions.setdefault(key, len(self._functions) + 1)
        return number(1, function) + number(2, frame.line) + number(3, frame.column)

    def _mapping(self, module: str, index: int) -> bytes:
        # Everything is named already: readers need not look for symbols.
        is_named = b"".join(number(field, 1) for field in (7, 8, 9, 10))
        return number(1, index) + number(5, self.string(module)) + is_named

    def _function(self, key: tuple[str, str, str], index: int) -> bytes:
        name, symbol, file = map(self.string, key)
        return number(1, index) + number(2, name) + number(3, symbol) + number(4, file)


def _calls_by_address(stack: Stack) -> Iterator[tuple[Frame, ...]]:
    """Each call that was not inlined, behind those inlined at its address."""
    calls: list[Frame] = []
    # Readers drop samples without a location.
    for frame in reversed(outermost_first(stack) or (Frame(),)):
        calls.append(frame)
        if not frame.inlined:
            yield tuple(calls)
            calls = []
    if calls:
        yield tuple(calls)


def _last(path: str) -> str:
    return path.rpartition("/")[2]
