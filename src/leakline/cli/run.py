"""Runs a program as it always runs, and reports what its heap lost on standard error.

The exit code is the program's own; 23 (or --error-exitcode) when it succeeded and
leaked. A program that dies of a signal takes `leakline` with it by the same signal.
"""

import os
import sys
from argparse import REMAINDER, ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from leakline.cli import presentation, watching
from leakline.cli.arguments import seconds
from leakline.cli.environment import watching_environment
from leakline.cli.inspection.program import find_program, refuse_unwatchable
from leakline.cli.launch import Child, die_like, exit_code_of
from leakline.cli.storage import RecordingPlace
from leakline.errors import UsageError

if TYPE_CHECKING:
    from leakline.model.report import Report

LEAKS_EXIT_CODE = 23


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the options of `leakline run`."""
    watching.add_arguments(parser)
    parser.add_argument(
        "-o",
        dest="recording",
        metavar="FILE",
        type=Path,
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


def _wait(child: Child, every_s: float | None, recording: Path) -> int:
    if every_s is None:
        return child.wait()
    from leakline.cli.snapshots import Periodic

    return child.wait(every_s, Periodic(recording).look)


def _report(
    arguments: Namespace, place: RecordingPlace, command: list[str], status: int
) -> bool:
    """Prints the report; true when it has leaks."""
    from dataclasses import replace

    from leakline.cli.loading import load_recording

    loaded = load_recording(place.path, arguments)
    run_ = replace(loaded.run, command=tuple(command), exit_code=exit_code_of(status))
    report: Report = replace(loaded, run=run_)
    return presentation.show(report, arguments, fallback=sys.stderr)
