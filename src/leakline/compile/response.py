"""Response files: `@file` words that stand for the words in the file."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

_DEEPEST = 10


def expand(words: Sequence[str], depth: int = 0) -> list[str]:
    """Replace each `@file` by the words in it; a file that is not there stays a word."""
    expanded: list[str] = []
    for word in words:
        inner = _read(word[1:]) if word.startswith("@") and depth < _DEEPEST else None
        expanded += [word] if inner is None else expand(inner, depth + 1)
    return expanded


def expand_those_with(options: Collection[str], words: Sequence[str]) -> list[str]:
    """Replace each `@file` that leads to one of some options; others stay words.

    They are there because a command line can be too short for what they stand for.
    """
    expanded: list[str] = []
    for word in words:
        inner = expand([word])
        expanded += (
            [word] if inner == [word] or not set(options) & set(inner) else inner
        )
    return expanded


def _read(name: str) -> list[str] | None:
    try:
        with open(name, errors="surrogateescape") as file:
            return _split(file.read())
    except OSError:
        return None


def _split(text: str) -> list[str]:
    r"""The words of a text as clang splits it: `\` works inside of both quotes."""
    words = []
    word = quote = ""
    characters = iter(text)
    for character in characters:
        if character == "\\":
            word += next(characters, character)
        elif quote:
            word, quote = (
                (word, "") if character == quote else (word + character, quote)
            )
        elif character in "'\"":
            quote = character
        elif not character.isspace():
            word += character
        elif word:
            words.append(word)
            word = ""
    return [*words, word] if word else words
