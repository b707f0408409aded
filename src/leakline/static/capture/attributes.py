"""Rewrites GCC's `malloc (deallocator, n)` attribute, which clang 19 rejects.

The offending files are read by clang in a rewritten form that keeps every line: the
attribute becomes an annotation with the same content, which the facts then carry.
"""

import functools
import re
from collections.abc import Iterable
from pathlib import Path

_REJECTED = re.compile(r"error: '(?:__)?malloc(?:__)?' attribute takes no arguments")
_PLACE = re.compile(
    r"^(?P<file>[^:\n]+):(?P<line>\d+):\d+: (?P<kind>error|note): (?P<text>.*)$"
)
_ATTRIBUTE = re.compile(r"\b(?:__)?malloc(?:__)?\s*\(\s*(\w+)\s*(?:,\s*(\w+)\s*)?\)")
_MACRO = re.compile(r"^\s*#\s*define\s+\w+\(([^)]*)\)")


def rejected_places(diagnostics: str) -> dict[str, set[int]]:
    """Files and lines where clang rejected the attribute, macros included."""
    places: dict[str, set[int]] = {}
    rejected = False
    for line in diagnostics.splitlines():
        match = _PLACE.match(line)
        if not match:
            continue
        if match["kind"] == "error":
            rejected = bool(_REJECTED.search(line))
        if rejected:
            places.setdefault(match["file"], set()).add(int(match["line"]))
    return places


def rewrite(text: str, lines: Iterable[int]) -> str:
    """Replace the attribute on the given lines (from 1)."""
    rows = text.split("\n")
    for number in lines:
        if number <= len(rows):
            macro = _macro_parameters(rows, number - 1)
            annotated = functools.partial(_annotation, macro=macro)
            rows[number - 1] = _ATTRIBUTE.sub(annotated, rows[number - 1])
    return "\n".join(rows)


def remapped(
    diagnostics: str, directory: Path, folder: Path, known: dict[Path, Path]
) -> dict[Path, Path]:
    """Write rewritten copies into `folder`; returns original to copy.

    `known` holds copies made before, which are rewritten further.
    """
    copies = dict(known)
    for name, lines in rejected_places(diagnostics).items():
        original = (directory / name).absolute()
        current = copies.get(original, original)
        try:
            text = current.read_text(errors="surrogateescape")
        except OSError:
            continue
        changed = rewrite(text, lines)
        if changed != text:
            copy = folder / f"{len(copies)}-{original.name}"
            copy.write_text(changed, errors="surrogateescape")
            copies[original] = copy
    return copies


def _annotation(match: re.Match[str], *, macro: frozenset[str]) -> str:
    function, argument = match[1], match[2] or "1"
    words = [_spelled(word, macro) for word in (function, argument)]
    return f'malloc, annotate("leakline.release=" {words[0]} "," {words[1]})'


def _spelled(word: str, macro: frozenset[str]) -> str:
    return f"#{word}" if word in macro else f'"{word}"'


def _macro_parameters(rows: list[str], index: int) -> frozenset[str]:
    """Parameters of the macro definition that the row belongs to."""
    while index > 0 and rows[index - 1].endswith("\\"):
        index -= 1
    match = _MACRO.match(rows[index])
    if not match:
        return frozenset()
    return frozenset(word.strip() for word in match[1].split(","))
