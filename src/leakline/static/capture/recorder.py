"""Watches a build: stand-ins for the build tools come first in its PATH.

A stand-in is a small shell script that writes its directory and arguments into a file
of its own and then becomes the real tool. Tools that a tool starts are not recorded
again.
"""

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from leakline.errors import CheckError
from leakline.static.cache import write_atomically
from leakline.static.capture.command import Build, Compilation, LinkStep
from leakline.static.capture.response import expand
from leakline.static.capture.tools import Invocation, interpret, is_build_tool

# Numbers grow with each record, so that the order of a build is the order of names.
# `true` and not `:` because a failed redirection of a special built-in ends the shell.
STAND_IN = """#!/bin/sh
if [ -z "$LEAKLINE_CAPTURED" ] && [ -d "$LEAKLINE_CAPTURE" ]; then
    set -C
    record=$LEAKLINE_CAPTURE/$$
    count=0
    until {{ true > "$record.$count"; }} 2> /dev/null || [ "$count" -ge 9999 ]; do
        count=$((count + 1))
    done
    set +C
    record=$record.$count
    number=0
    for argument in "$@"; do
        number=$((number + 1))
        case $argument in
            @*) cat "${{argument#@}}" > "$record.response$number" 2> /dev/null ;;
        esac
    done
    printf '%s\\0' "$(pwd)" {name} "$@" > "$record"
    mv "$record" "$record.done"
    export LEAKLINE_CAPTURED=1
fi
exec {real} "$@"
"""


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
            command, env=_environment(tools, records), stdout=_messages(), check=False
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


def write_stand_ins(folder: Path, search_path: str) -> None:
    """Write a stand-in for each build tool that the search path leads to."""
    found: dict[str, Path] = {}
    for entry in search_path.split(os.pathsep):
        if Path(entry).absolute() != folder:
            for tool in _build_tools(Path(entry).absolute()):
                found.setdefault(tool.name, tool)
    for name, tool in found.items():
        text = STAND_IN.format(name=shlex.quote(name), real=shlex.quote(str(tool)))
        stand_in = folder / name
        if not stand_in.is_file() or stand_in.read_text() != text:
            write_atomically(stand_in, text.encode(errors="surrogateescape"))
        stand_in.chmod(0o755)


def _build_tools(folder: Path) -> list[Path]:
    try:
        files = sorted(path for path in folder.iterdir() if is_build_tool(path.name))
    except OSError:
        return []
    return [path for path in files if os.access(path, os.X_OK)]


def _environment(tools: Path, records: Path) -> dict[str, str]:
    environment = dict(os.environ)
    environment["PATH"] = f"{tools}{os.pathsep}{environment.get('PATH', os.defpath)}"
    environment["LEAKLINE_CAPTURE"] = str(records)
    environment.pop("LEAKLINE_CAPTURED", None)
    for variable in ("CC", "CXX", "AR", "LD"):
        # A compiler given by its full path would pass the stand-ins by.
        stand_in = tools / Path(environment.get(variable, "")).name
        if environment.get(variable, "").startswith("/") and stand_in.is_file():
            environment[variable] = str(stand_in)
    return environment


def read_records(folder: Path) -> Build:
    """Interpret the records of a build, in the order they were made."""
    compilations: dict[Path, Compilation] = {}
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
    return Build(tuple(compilations.values()), tuple(links.values()), tuple(remarks))


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
