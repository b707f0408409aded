"""Calls of clang that no stand-in saw, as clang itself logs them.

With CC_PRINT_OPTIONS set, clang appends the command line of each compilation to a file.
These are the options of its inner compiler (`-cc1`), so that only those that change the
meaning of a source are taken over.
"""

import os
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from leakline.static.capture.command import Compilation
from leakline.static.capture.tools import absolute, is_probe

VARIABLE = "CC_PRINT_OPTIONS"
FILE_VARIABLE = "CC_PRINT_OPTIONS_FILE"

_WORD = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPED = re.compile(r"\\(.)")
_DIRECTORY = "-fdebug-compilation-dir="
# Options whose value is the next word, and what the driver calls them.
_WITH_VALUE = {
    "-D": "-D",
    "-U": "-U",
    "-I": "-I",
    "-idirafter": "-idirafter",
    "-include": "-include",
    "-iquote": "-iquote",
    "-isystem": "-isystem",
    "-isysroot": "-isysroot",
    "-triple": "--target",
}
_ALONE = ("-std=", "-fno-signed-char", "-fshort-enums", "-fshort-wchar", "-pthread")
_LANGUAGES = frozenset({"c", "c++"})


def logged_compilations(log: Path) -> Iterator[Compilation]:
    """The compilations in a log whose objects are still there."""
    try:
        text = os.fsdecode(log.read_bytes())
    except OSError:
        return
    for line in text.splitlines():
        words = [_ESCAPED.sub(r"\1", word) for word in _WORD.findall(line)]
        if words[1:2] == ["-cc1"]:
            found = _compilation(words[2:])
            # What is linked at once goes through a file that is gone afterwards.
            if found is not None and found.output.is_file():
                yield found


def _compilation(words: list[str]) -> Compilation | None:
    directory = next(
        (
            word.removeprefix(_DIRECTORY)
            for word in words
            if word.startswith(_DIRECTORY)
        ),
        "",
    )
    values = dict(pairwise(words))
    output, language, source = values.get("-o"), values.get("-x"), words[-1]
    if not (directory and output) or language not in _LANGUAGES:
        return None
    place = Path(directory)
    if source.startswith("-") or is_probe(place, source):
        return None
    flags = (*_flags(words), "-x", language)
    return Compilation(place, source, flags, absolute(place, output))


def _flags(words: list[str]) -> Iterator[str]:
    rest = iter(words[:-1])
    for word in rest:
        if word in _WITH_VALUE:
            value = next(rest, "")
            joined = "=" if word == "-triple" else ""
            if joined or word in ("-D", "-U", "-I"):
                yield f"{_WITH_VALUE[word]}{joined}{value}"
            else:
                yield from (word, value)
        elif word.startswith(_ALONE):
            yield word
