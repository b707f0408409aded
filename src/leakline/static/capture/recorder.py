"""Watches a build through stand-ins for its tools, and reads what they noted."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from leakline.errors import CheckError
from leakline.static.capture.archives import unseen_archives
from leakline.static.capture.clang_log import logged_compilations
from leakline.static.capture.command import Build, LinkStep
from leakline.static.capture.response import expand
from leakline.static.capture.stand_ins import (
    CLANG_LOG,
    watching_environment,
    write_stand_ins,
)
from leakline.static.capture.tools import Invocation, interpret


def record_build(
    command: Sequence[str], records: Path, tools: Path
) -> tuple[int, Build]:
    """Run a build and return its exit status and what it did.

    `records` is an empty folder for one run. The stand-ins stay in `tools`, because a
    build that is configured while it is watched (CMake) remembers their paths; without
    a run that watches them they only start the real tool.
    """
    tools.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_stand_ins(tools, os.environ.get("PATH", os.defpath))
    try:
        status = subprocess.run(
            command,
            env=watching_environment(tools, records),
            stdout=_messages(),
            check=False,
        ).returncode
    except OSError as error:
        raise CheckError(
            f"The build command {command[0]!r} cannot be started: {error.strerror}."
        ) from error
    return status, read_records(records)


def _messages() -> int | None:
    """Where a build's output goes: our standard output is for the report alone."""
    try:
        return sys.stderr.fileno()
    except (OSError, ValueError, AttributeError):
        return None


def read_records(folder: Path) -> Build:
    """Interpret the records of a build, in the order they were made."""
    compilations = {c.output: c for c in logged_compilations(folder / CLANG_LOG)}
    links: dict[Path, LinkStep] = {}
    for path in sorted(folder.glob("*.done"), key=lambda p: p.stat().st_mtime_ns):
        compiled, linked = interpret(_invocation(path))
        compilations.update({c.output: c for c in compiled})
        for link in linked:
            links[link.output] = _grown(links.get(link.output), link)
    gone = [
        c
        for c in compilations.values()
        if not (c.directory.is_dir() and c.source_path.is_file())
    ]
    for compilation in gone:
        del compilations[compilation.output]
    # Configuration scripts try things out and remove source and object again.
    remarks = [
        f"{c.source_path} was compiled but is gone after the build."
        for c in gone
        if c.output.is_file()
    ]
    steps = (*links.values(), *unseen_archives(links, compilations))
    return Build(tuple(compilations.values()), steps, tuple(remarks))


def _grown(before: LinkStep | None, now: LinkStep) -> LinkStep:
    """An archive grows by each `ar`; anything else is made anew."""
    if before is None or now.closed or not str(now.output).endswith(".a"):
        return now
    inputs = tuple(dict.fromkeys(before.inputs + now.inputs))
    return LinkStep(now.output, inputs, now.libraries, now.closed)


def _invocation(path: Path) -> Invocation:
    # A full disk leaves records that are cut short.
    directory, *arguments = os.fsdecode(path.read_bytes()).split("\0")[:-1] or ["/"]
    copies = {
        argument[1:]: path.with_name(f"{path.name.removesuffix('.done')}.response{n}")
        for n, argument in enumerate(arguments)
        if argument.startswith("@")
    }

    def read(name: str) -> str | None:
        copy = copies.get(name)
        return copy.read_text(errors="surrogateescape") if copy else None

    return Invocation(Path(directory), tuple(expand(arguments, read)))
