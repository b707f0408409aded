"""Response files: `@file` words that stand for the words in the file."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_DEEPEST = 10


def expand(words: Sequence[str], depth: int = 0) -> list[str]:
    """Replace each `@file` by the words in it; a file that is not there stays a word."""
    expanded: list[str] = []
    for word in words:
        inner = _read(word[1:]) if word.startswith("@") and depth < _DEEPEST else None
        expanded += [word] if inner is None else expand(inner, depth + 1)
    return expanded


def _read(name: str) -> list[str] | None:
    try:
        with open(name, errors="surrogateescape") as file:
            text = file.read()
    except OSError:
        return None
    import shlex  # takes longer to load than a call without such files may take

    try:
        return shlex.split(text)
    except ValueError:
        return text.split()
