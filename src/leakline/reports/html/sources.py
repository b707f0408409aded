"""Which source text is embedded: the user's own files that the findings name.

Small files are embedded whole. Of large ones, and of all when there are many, only the
lines around the named places are, so that the page stays quick to open.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from leakline.model.stack import Frame
from leakline.reports.html.tables import Tables
from leakline.reports.places import is_own_code
from leakline.reports.privacy import Privacy
from leakline.reports.source import all_lines, is_newer

_MOST_LINES_OF_A_WHOLE_FILE = 3000
_LINES_AROUND_A_PLACE = 20
_BUDGET_CHARACTERS = 4 << 20

# A run of lines: the number of the first, and their texts.
Part = tuple[int, list[str]]


def embedded_sources(tables: Tables, privacy: Privacy) -> dict[str, Any]:
    """Per number of a file its parts, and how many files did not fit in."""
    if not privacy.with_source:
        return {"with_source": False, "sources": {}, "sources_left_out": 0}
    packer = _Packer(privacy)
    for file, lines in _named_lines(tables).items():
        packer.add(tables.file(file), file, lines)
    changed = _changed_files(tables, privacy, packer.sources)
    return {
        "with_source": True,
        "sources": packer.sources,
        "sources_left_out": packer.left_out,
        "changed": changed,
    }


class _Packer:
    def __init__(self, privacy: Privacy) -> None:
        self._folder = privacy.folder
        self._room = _BUDGET_CHARACTERS
        self.sources: dict[int, list[Part]] = {}
        self.left_out = 0

    def add(self, number: int, file: str, named: set[int]) -> None:
        """Embeds the file whole, else around the named lines, else not at all."""
        lines = all_lines(file, self._folder)
        if not lines:
            return
        for parts in _choices(lines, named):
            size = sum(len(line) + 3 for _, texts in parts for line in texts)
            if parts and size <= self._room:
                self.sources[number] = parts
                self._room -= size
                return
        self.left_out += 1


def _choices(lines: list[str], named: set[int]) -> Iterator[list[Part]]:
    if len(lines) <= _MOST_LINES_OF_A_WHOLE_FILE:
        yield [(1, lines)]
    yield _excerpts(lines, named)


def _excerpts(lines: list[str], named: Iterable[int]) -> list[Part]:
    """Runs of lines around the named ones; runs that touch become one."""
    parts: list[Part] = []
    for line in sorted(named):
        if line > len(lines):
            continue
        first = max(1, line - _LINES_AROUND_A_PLACE)
        last = min(len(lines), line + _LINES_AROUND_A_PLACE)
        if parts and first <= parts[-1][0] + len(parts[-1][1]):
            first = parts.pop()[0]
        parts.append((first, lines[first - 1 : last]))
    return parts


def _named_lines(tables: Tables) -> dict[str, set[int]]:
    """Per file of the user's own code, the lines that frames and paths name."""
    named: dict[str, set[int]] = {}
    for frame in tables.frames():
        if frame.file and frame.line > 0 and is_own_code(frame):
            named.setdefault(frame.file, set()).add(frame.line)
    for file, line in tables.places():
        if line > 0 and is_own_code(Frame(file=file)):
            named.setdefault(file, set()).add(line)
    return named


def _changed_files(
    tables: Tables, privacy: Privacy, sources: dict[int, list[Part]]
) -> list[int]:
    """The embedded files that were changed after the program was built."""
    return sorted(
        {
            tables.file(frame.file)
            for frame in tables.frames()
            if frame.file
            and tables.file(frame.file) in sources
            and is_newer(frame.file, frame.module, privacy.folder)
        }
    )
