"""Comments in the source that hide a finding: `leakline: ignore`.

The comment stands on the line of the allocation or of the loss, or alone on the line
above it.
"""

from collections.abc import Iterable
from pathlib import Path

from leakline.model.finding import Finding

_MARK = "leakline: ignore"


class Comments:
    """Reads sources for the mark, each file once."""

    def __init__(self) -> None:
        self._marked: dict[str, frozenset[int]] = {}

    def hiding(self, finding: Finding) -> str:
        """The place of the comment that hides a finding; empty when none does."""
        for file, line in _places(finding):
            marked = self._lines(file)
            for candidate in (line, line - 1):
                if candidate in marked:
                    return f"comment at {file}:{candidate}"
        return ""

    def _lines(self, file: str) -> frozenset[int]:
        if file not in self._marked:
            try:
                text = Path(file).read_text(encoding="utf-8", errors="replace")
            except OSError:
                text = ""
            self._marked[file] = frozenset(
                number
                for number, line in enumerate(text.splitlines(), 1)
                if _MARK in line
            )
        return self._marked[file]


def _places(finding: Finding) -> list[tuple[str, int]]:
    frames = list(finding.allocation.frames)
    if finding.loss is not None:
        frames.extend(finding.loss.stack.frames)
    places = [(frame.file, frame.line) for frame in frames]
    if finding.path:
        places.append((finding.path[-1].file, finding.path[-1].line))
    return places


def split_suppressed(
    findings: Iterable[Finding],
) -> tuple[tuple[Finding, ...], tuple[tuple[str, Finding], ...]]:
    """The findings to show, and those that a comment hides with its place."""
    comments = Comments()
    shown: list[Finding] = []
    hidden: list[tuple[str, Finding]] = []
    for finding in findings:
        place = comments.hiding(finding)
        if place:
            hidden.append((place, finding))
        else:
            shown.append(finding)
    return tuple(shown), tuple(hidden)
