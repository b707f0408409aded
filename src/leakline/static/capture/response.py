"""Response files: `@file` arguments that stand for the arguments in the file."""

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

MAX_DEPTH = 10


def expand(
    arguments: Sequence[str], read: Callable[[str], str | None], depth: int = 0
) -> list[str]:
    """Replace each `@file` by what `read` returns for it; None leaves it as it is."""
    expanded: list[str] = []
    for argument in arguments:
        text = read(argument[1:]) if argument.startswith("@") else None
        if text is None or depth >= MAX_DEPTH:
            expanded.append(argument)
        else:
            expanded += expand(_split(text), read, depth + 1)
    return expanded


def reader_in(directory: Path) -> Callable[[str], str | None]:
    """Reads response files by names relative to a folder."""

    def read(name: str) -> str | None:
        try:
            return (directory / name).read_text(errors="surrogateescape")
        except OSError:
            return None

    return read


def _split(text: str) -> list[str]:
    """Split as GCC does: white space, quotes and backslashes as in a shell.

    Text with a quote that never ends is split at white space.
    """
    lexer = shlex.shlex(text, posix=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    lexer.escapedquotes = "\"'"
    try:
        return list(lexer)
    except ValueError:
        return text.split()
