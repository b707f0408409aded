"""Runs a program as it always runs, and reports what its heap lost on standard error.

The exit code is the program's own; 23 (or --error-exitcode) when it succeeded and
leaked. A program that dies of a signal takes `leakline` with it by the same signal.
"""

from __future__ import annotations

import os
import sys
from argparse import REMAINDER

from leakline.cli import presentation, watching
from leakline.cli.arguments import seconds
from leakline.cli.environment import watching_environment
from leakline.cli.inspection.program import find_program, refuse_unwatchable
from leakline.cli.launch import Child, die_like, exit_code_of
from leakline.cli.storage import RecordingPlace
from leakline.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

    from leakline.model.report import Report

LEAKS_EXIT_CODE = 23


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the options of `leakline run`."""
    watching.add_arguments(parser)
    parser.add_argument(
        "-o",
        dest="recording",
        metavar="FILE",
        help="keep the recording in FILE, which must not exist yet",
    )
    parser.add_argument(
        "--every",
        metavar="SECONDS",
        type=seconds,
        help="also look at the heap of each watched process every SECONDS",
    )
    presentation.add_arguments(parser, error_exit_code=LEAKS_EXIT_CODE)
    parser.add_argument(
        "command", metavar="-- PROGRAM ARGUMENT", nargs=REMAINDER, help="what to run"
    )


def run(arguments: Namespace) -> int:
    """Runs, waits, reports; returns the exit code."""
    watching.check(arguments)
    presentation.check(arguments)
    command = _command(arguments.command)
    environment = dict(os.environ)
    path = find_program(command[0], environment.get("PATH"))
    refuse_unwatchable(path)
    place = RecordingPlace(arguments.recording, environment)
    try:
        options = watching.runtime_options(arguments, place.path)
        child = Child(path, command, watching_environment(environment, options))
        status = _wait(child, arguments.every, place.path)
        leaked = _report(arguments, place, command, status)
    finally:
        place.discard()
    if leaked and status == 0:
        return int(arguments.error_exitcode)
    die_like(status)
    return exit_code_of(status)


def _command(words: list[str]) -> list[str]:
    command = words[1:] if words[:1] == ["--"] else words
    if not command:
        raise UsageError(
            "name the program: leakline run [OPTIONS] -- PROGRAM ARGUMENTS"
        )
    return command


def _wait(child: Child, every_s: float | None, recording: str) -> int:
    if every_s is None:
        return child.wait()
    from pathlib import Path

    from leakline.cli.snapshots import Periodic, follow

    with follow(Path(recording)) as follower:
        return child.wait(every_s, Periodic(follower).look)


def _report(
    arguments: Namespace, place: RecordingPlace, command: list[str], status: int
) -> bool:
    """Prints the report; true when it has leaks."""
    from dataclasses import replace
    from pathlib import Path

    from leakline.cli.loading import load_recording

    loaded = load_recording(Path(place.path), arguments)
    watched_run = replace(
        loaded.run,
        command=tuple(command),
        exit_code=exit_code_of(status),
        not_seen=(*loaded.run.not_seen, *_about_survivors(place)),
    )
    report: Report = replace(loaded, run=watched_run)
    return presentation.show(report, arguments, fallback=sys.stderr)


def _about_survivors(place: RecordingPlace) -> Iterator[str]:
    """Keeps the recording for processes that outlive the program, and says so."""
    from pathlib import Path

    from leakline.cli.snapshots import still_running

    survivors = still_running(Path(place.path))
    if survivors:
        place.keep()
        numbers = ", ".join(map(str, survivors))
        yield (
            f"Still running when this report was made: {numbers}. The recording stays "
            f"in {place.path}: `leakline snapshot PID` looks at them now, `leakline "
            "report` after their end."
        )
