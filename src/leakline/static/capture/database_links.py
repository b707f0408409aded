"""Links of a build that is described by a compile database.

A compile database says nothing about linking. CMake's make files keep each link in a
`link.txt`; Ninja, which CMake and Meson write for, tells all commands when asked.
"""

import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

from leakline.static.capture.command import LinkStep
from leakline.static.capture.response import expand, reader_in
from leakline.static.capture.tools import Invocation, interpret

TIMEOUT_S = 60


def links_beside(database: Path) -> tuple[LinkStep, ...]:
    """Links of the build whose folder holds the database; empty when unknown."""
    folder = database.parent
    if (folder / "build.ninja").is_file():
        commands = _ninja_commands(folder)
    else:
        commands = _link_texts(folder)
    found: dict[Path, LinkStep] = {}
    for directory, command in commands:
        for step in _links(directory, command):
            found[step.output] = step
    return tuple(found.values())


def _links(directory: Path, command: str) -> list[LinkStep]:
    try:
        words = shlex.split(command)
    except ValueError:
        return []
    if not words:
        return []
    arguments = expand(words, reader_in(directory))
    return interpret(Invocation(directory, tuple(arguments)))[1]


def _ninja_commands(folder: Path) -> Iterator[tuple[Path, str]]:
    try:
        answer = subprocess.run(
            ["ninja", "-t", "commands"],  # noqa: S607 (the user's own ninja)
            cwd=folder,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            timeout=TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return
    for line in answer.stdout.splitlines():
        yield from ((folder, part) for part in line.split("&&"))


def _link_texts(folder: Path) -> Iterator[tuple[Path, str]]:
    for path in sorted(folder.glob("**/CMakeFiles/*.dir/link.txt")):
        # Commands run in the folder that CMakeFiles lies in.
        directory = path.parents[2]
        for line in path.read_text(errors="surrogateescape").splitlines():
            yield directory, line
