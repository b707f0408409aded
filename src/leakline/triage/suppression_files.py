"""Reads suppression files in the formats of Valgrind and of LeakSanitizer.

Both may stand in one file. Entries that are about other errors than leaks are legal
and passed over; anything else that is not understood is an error with its line.
"""

from collections.abc import Iterator
from pathlib import Path

from leakline.errors import SuppressionError
from leakline.model.finding import Kind
from leakline.triage.suppressions import (
    AnywhereSuppression,
    FramePattern,
    Part,
    StackSuppression,
    Suppression,
)

_TOOL = "Memcheck"
_KIND_LINE = "match-leak-kinds:"
_LEAK_KINDS = {
    "definite": frozenset([Kind.LOST]),
    "indirect": frozenset([Kind.INDIRECT]),
    "possible": frozenset[Kind](),  # a block is lost or it is not: we have no such kind
    "reachable": frozenset([Kind.REACHABLE]),
    "all": frozenset(Kind),
    "none": frozenset[Kind](),
}
_LARGEST_FILE_BYTES = 16 << 20

Lines = Iterator[tuple[int, str]]


def read_suppressions(path: Path) -> tuple[Suppression, ...]:
    """Reads one file.

    Raises:
        SuppressionError: It cannot be read, or a line cannot be understood.
    """
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST_FILE_BYTES + 1)
    except OSError as error:
        raise SuppressionError(
            f"the suppression file {path} cannot be read: {error.strerror}"
        ) from None
    if len(content) > _LARGEST_FILE_BYTES:
        raise SuppressionError(f"{path} is too large for a suppression file")
    return parse_suppressions(content.decode(errors="surrogateescape"), str(path))


def parse_suppressions(text: str, origin: str) -> tuple[Suppression, ...]:
    """Parses the text of a file; `origin` is its name in messages.

    With an empty `origin` the suppressions are the program's own and are never listed
    as unused.
    """
    parser = _Parser(text, origin)
    return tuple(parser.entries())


class _Parser:
    def __init__(self, text: str, origin: str) -> None:
        self._origin = origin
        self._lines = _meaningful_lines(text)

    def entries(self) -> Iterator[Suppression]:
        for number, line in self._lines:
            if line == "{":
                entry = self._valgrind_entry(number)
                if entry is not None:
                    yield entry
            elif line.startswith("leak:") and line != "leak:":
                pattern = line.removeprefix("leak:")
                yield AnywhereSuppression(line, self._place(number), pattern)
            else:
                raise self._error(
                    number,
                    f"expected leak:PATTERN or the {{ of a Valgrind suppression, "
                    f"not {line!r}",
                )

    def _valgrind_entry(self, start: int) -> StackSuppression | None:
        """The entry behind a `{`; None when it is not about leaks."""
        body = self._body(start)
        _, name = next(body, (start, ""))
        number, what = next(body, (start, ""))
        tools, colon, error = what.partition(":")
        if not colon:
            raise self._error(
                number, "a Valgrind suppression needs a name and a line Memcheck:Leak"
            )
        if error.strip() != "Leak" or _TOOL not in tools.split(","):
            for _ in body:
                pass
            return None
        return self._leak_entry(start, name, body)

    def _leak_entry(self, start: int, name: str, body: Lines) -> StackSuppression:
        kinds = None
        patterns = []
        for number, line in body:
            if line.startswith(_KIND_LINE):
                kinds = self._kinds(number, line.removeprefix(_KIND_LINE))
            else:
                patterns.append(self._frame_pattern(number, line))
        if not patterns:
            raise self._error(start, f"the suppression {name!r} names no frame")
        return StackSuppression(name, self._place(start), tuple(patterns), kinds)

    def _body(self, start: int) -> Lines:
        """The lines up to the closing brace."""
        for number, line in self._lines:
            if line == "}":
                return
            yield number, line
        raise self._error(start, "the { opened here is never closed by a }")

    def _kinds(self, number: int, text: str) -> frozenset[Kind]:
        kinds: frozenset[Kind] = frozenset()
        for word in text.split(","):
            if word.strip() not in _LEAK_KINDS:
                raise self._error(
                    number,
                    f"there is no leak kind {word.strip()!r}; expected one of "
                    f"{', '.join(_LEAK_KINDS)}",
                )
            kinds |= _LEAK_KINDS[word.strip()]
        return kinds

    def _frame_pattern(self, number: int, line: str) -> FramePattern:
        if line == Part.ANY_FRAMES.value:
            return FramePattern(Part.ANY_FRAMES)
        for part in (Part.FUNCTION, Part.OBJECT, Part.SOURCE):
            prefix = f"{part.value}:"
            if line.startswith(prefix) and line != prefix:
                return FramePattern(part, line.removeprefix(prefix))
        raise self._error(
            number, f"expected fun:NAME, obj:PATH, src:FILE or ..., not {line!r}"
        )

    def _place(self, number: int) -> str:
        return f"{self._origin}:{number}" if self._origin else ""

    def _error(self, number: int, problem: str) -> SuppressionError:
        origin = self._origin or "__lsan_default_suppressions"
        return SuppressionError(f"{origin}:{number}: {problem}")


def _meaningful_lines(text: str) -> Lines:
    """Numbered lines without blank ones, comments and space around them."""
    for number, line in enumerate(text.split("\n"), start=1):
        stripped = line.strip()
        if stripped and not stripped.startswith("#"):
            yield number, stripped
