"""How a text report looks on a given stream: colours, width, folder of reference."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TextIO


class Role(Enum):
    """What a piece of text is; the value is its terminal attribute."""

    ALARM = "1;31"
    WARNING = "1;33"
    CALM = "1;32"
    TITLE = "1"
    PLACE = "36"
    QUIET = "2"


@dataclass(frozen=True, slots=True)
class Style:
    """Looks of a text report.

    Attributes:
        folder: Paths below it are shown relative to it; source files named by
            relative paths are looked for in it.
        colour: Terminal colours are wanted.
        width: Columns of the terminal; None when lines may be as long as they like.
        with_source: Lines of source files are quoted.
        verbose: Every frame has its lines of source and its place in the module.
        originals: Where the files of shortened paths are.
    """

    folder: Path
    colour: bool = False
    width: int | None = None
    with_source: bool = True
    verbose: bool = False
    originals: Mapping[str, str] = field(default_factory=dict)

    def paint(self, text: str, role: Role) -> str:
        """The text with the role's colour, if colours are wanted."""
        return f"\x1b[{role.value}m{text}\x1b[m" if self.colour and text else text


def style_for(
    stream: TextIO | None, environment: Mapping[str, str], folder: Path
) -> Style:
    """Colours on a terminal unless NO_COLOR; elsewhere only with FORCE_COLOR."""
    terminal = stream is not None and stream.isatty()
    if environment.get("NO_COLOR"):
        colour = False
    elif environment.get("FORCE_COLOR"):
        colour = environment["FORCE_COLOR"] != "0"
    else:
        colour = terminal and environment.get("TERM") != "dumb"
    return Style(folder, colour, _columns(stream, environment) if terminal else None)


def _columns(stream: TextIO | None, environment: Mapping[str, str]) -> int | None:
    named = environment.get("COLUMNS", "")
    if named.isdigit() and int(named) > 0:
        return int(named)
    try:
        return os.get_terminal_size(stream.fileno()).columns or None if stream else None
    except OSError:
        return None
