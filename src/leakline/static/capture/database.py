"""Builds described by a compile_commands.json."""

import json
import shlex
from pathlib import Path
from typing import Any

from leakline.errors import CheckError
from leakline.static.capture.command import Build, Compilation
from leakline.static.capture.database_links import links_beside
from leakline.static.capture.response import expand, reader_in
from leakline.static.capture.tools import Invocation, interpret, is_build_tool

NAME = "compile_commands.json"
# The database of a project with a million sources is below this.
_LARGEST_FILE_BYTES = 4 << 30


def read_database(path: Path) -> Build:
    """Read the compilations of a database file, and the links found beside it."""
    entries = _entries(path)
    found: dict[Path, Compilation] = {}
    remarks = []
    for number, entry in enumerate(entries):
        try:
            compilations = _compilations(entry, path.parent)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            remarks.append(f"Entry {number + 1} of {path} is not usable ({error!r}).")
            continue
        found.update({c.output: c for c in compilations})
    return Build(tuple(found.values()), links_beside(path), tuple(remarks))


def _entries(path: Path) -> list[Any]:
    try:
        if path.stat().st_size > _LARGEST_FILE_BYTES:
            raise CheckError(f"{path} is too large for a list of compile commands.")
        entries = json.loads(path.read_bytes())
    except OSError as error:
        raise CheckError(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise CheckError(f"{path} is not valid JSON: {error}.") from error
    if not isinstance(entries, list):
        raise CheckError(f"{path} holds no list of compile commands.")
    return entries


def _compilations(entry: dict[str, Any], base: Path) -> list[Compilation]:
    directory = (base / entry["directory"]).absolute()
    arguments = entry.get("arguments") or _words(entry["command"])
    if not all(isinstance(argument, str) for argument in arguments):
        raise TypeError("arguments must be text")
    if not is_build_tool(Path(arguments[0]).name):
        # A database lists compilers only, whatever their names are.
        arguments[0] = "c++" if arguments[0].endswith("++") else "cc"
    expanded = expand(arguments, reader_in(directory))
    return interpret(Invocation(directory, tuple(expanded)))[0]


def _words(command: object) -> list[str]:
    if not isinstance(command, str):
        raise TypeError("the command must be text")
    return shlex.split(command)
