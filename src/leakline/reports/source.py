"""Shows the lines of source around a place, where the file can be read.

Paths come from debug information that anyone may have written: only regular files of
moderate size that are named like source files are opened.
"""

import os
import re
import stat
from functools import lru_cache
from pathlib import Path

from leakline.reports.printable import printable

_SUFFIX = re.compile(
    r"\.(c|cc|cpp|cxx|c\+\+|h|hh|hpp|hxx|h\+\+|inc|inl|ipp|tcc|tpp|m|mm|cu|cuh"
    r"|l|y|ll|yy|rs|go|d|f|f90|pas|adb|ads|zig|nim|swift)",
    re.IGNORECASE,
)
_LARGEST_FILE_BYTES = 4 << 20
_LINES_BEFORE = 1
_LINES_AFTER = 1
_TAB_CELLS = 4


def source_lines(file: str, line: int, folder: Path) -> list[tuple[int, str]]:
    """Three numbered lines around `line`, less at the ends; empty if there are none."""
    lines = _lines_if_source(file, folder)
    if not 0 < line <= len(lines):
        return []
    first = max(1, line - _LINES_BEFORE)
    last = min(len(lines), line + _LINES_AFTER)
    return [(number, _clean(lines[number - 1])) for number in range(first, last + 1)]


def all_lines(file: str, folder: Path) -> list[str]:
    """The whole file, the first line first; empty if it cannot be read."""
    lines = [_clean(line) for line in _lines_if_source(file, folder)]
    return lines[:-1] if lines and not lines[-1] else lines


def pointed_line(
    file: str, line: int, column: int, folder: Path
) -> tuple[str, str] | None:
    """A line of source and, below it, a caret under a column; None without source.

    Columns count from 1 in bytes, as compilers count; 0 points at the first word.
    """
    lines = _lines_if_source(file, folder)
    if not 0 < line <= len(lines):
        return None
    raw = lines[line - 1]
    before = raw.encode(errors="replace")[: max(0, column - 1)].decode(errors="replace")
    if column == 0:
        before = raw[: len(raw) - len(raw.lstrip())]
    return _clean(raw), " " * len(_widened(before)) + "^"


@lru_cache(maxsize=1024)
def is_newer(file: str, module: str, folder: Path) -> bool:
    """Whether the source was changed after the program was built."""
    try:
        return (folder / file).stat().st_mtime > Path(module).stat().st_mtime
    except (OSError, ValueError):
        return False


def _lines_if_source(file: str, folder: Path) -> tuple[str, ...]:
    if not _SUFFIX.fullmatch(Path(file).suffix):
        return ()
    return _lines_of(str(folder / file))


@lru_cache(maxsize=64)
def _lines_of(path: str) -> tuple[str, ...]:
    try:
        content = _read_regular_file(path)
    except (OSError, ValueError):
        return ()
    return tuple(content.decode(errors="replace").split("\n")) if content else ()


def _read_regular_file(path: str) -> bytes:
    """Reads a file without waiting on pipes or touching devices."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST_FILE_BYTES:
            return b""
        return file.read(_LARGEST_FILE_BYTES)


def _clean(line: str) -> str:
    return _widened(line.rstrip("\r")).rstrip()


def _widened(text: str) -> str:
    return printable(text.expandtabs(_TAB_CELLS))
