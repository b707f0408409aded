"""One line on the terminal that shows how far a longer piece of work has come."""

import sys
import time
from types import TracebackType
from typing import Self, TextIO

_SILENT_S = 1.0  # work shorter than this shows nothing
_REDRAW_S = 0.1
_BAR_CELLS = 24
_ERASE_LINE = "\r\x1b[K"


class Progress:
    """Draws on standard error if it is a terminal; erased when the work is done."""

    def __init__(self, stream: TextIO | None = None) -> None:
        chosen = stream or sys.stderr
        self._stream = chosen if chosen is not None and chosen.isatty() else None
        self._due = time.monotonic() + _SILENT_S
        self._drawn = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._drawn and self._stream is not None:
            self._write(_ERASE_LINE)

    def update(self, stage: str, done: int, total: int) -> None:
        """Says that `done` of `total` steps of a stage are through (total 0: unknown)."""
        now = time.monotonic()
        if self._stream is None or now < self._due:
            return
        self._due = now + _REDRAW_S
        self._drawn = True
        self._write(f"{_ERASE_LINE}leakline: {stage}{_bar(done, total)}")

    def _write(self, text: str) -> None:
        if self._stream is None:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:
            self._stream = None


def _bar(done: int, total: int) -> str:
    if total <= 0:
        return " ..."
    share = min(1.0, done / total)
    filled = int(share * _BAR_CELLS)
    return f" [{'#' * filled}{'.' * (_BAR_CELLS - filled)}] {share:4.0%}"
