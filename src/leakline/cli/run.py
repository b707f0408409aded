"""Runs a program as it always runs, and reports what its heap lost on standard error.

The exit code is the program's own; 23 (or --error-exitcode) when it succeeded and
leaked. A program that dies of a signal takes `leakline` with it by the same signal.
"""

from __future__ import annotations

import os
import sys
from argparse import REMAINDER

from leakline.cli import planning, presentation, watching
from leakline.cli.arguments import seconds
from leakline.cli.environment import watching_environment
from leakline.cli.inspection.program import find_program, refuse_unwatchable
from leakline.cli.launch import (
    Child,
    EndedBySignal,
    die_like,
    exit_code_of,
    leave_input_to_program,
    leave_output_to_program,
    tidy_up_before_ending,
)
from leakline.cli.storage import RecordingPlace
from leakline.errors import LeaklineError, ProgramError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

    from leakline.cli.refining import SameRun, SecondRun
    from leakline.model.report import Report


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the options of `leakline run`."""
    parser.usage = "leakline run [OPTIONS] [--] PROGRAM [ARGUMENT ...]"
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
    parser.add_argument(
        "--refine",
        action="store_true",
        help="run the program a second time, unseen, to find the line at which "
        "variables lost their blocks; with --every not again, but of leaks that recur "
        "while it runs (implies --lens loss)",
    )
    presentation.add_baseline_argument(parser)
    presentation.add_arguments(parser, error_exit_code=presentation.LEAKS_EXIT_CODE)
    parser.add_argument(
        "command", metavar="PROGRAM [ARGUMENT ...]", nargs=REMAINDER, help="what to run"
    )


def run(arguments: Namespace) -> int:
    """Runs, waits, reports; returns the exit code."""
    presentation.check(arguments)
    command = _command(arguments.command)
    path = find_program(command[0], os.environ.get("PATH"))
    if arguments.references and arguments.show == presentation.SHOWN_BY_DEFAULT:
        arguments.show = "all"
    # The second run tells whole stacks only of what variables lost.
    arguments.loss_stacks |= arguments.refine
    watching.check(arguments, path)
    refuse_unwatchable(path)
    place = RecordingPlace(arguments.recording, os.environ)
    try:
        again = _second_run(arguments)
        same = _same_run(arguments, place.path)
        arguments.refining = same.options() if same is not None else {}
        child = _start(arguments, place, path, command)
        tidy_up_before_ending()
        leave_input_to_program()
        if not _reports_to_descriptor(arguments.report_file):
            leave_output_to_program()
        status = _wait(child, arguments, place.path, same)
        if again is not None:
            arguments.not_repeated = again.run(path, command, place.path, status)
        verdict = _report(arguments, place, command, status)
    except EndedBySignal as end:
        place.discard()
        die_like(end.number)
        return exit_code_of(end.number)
    finally:
        place.discard()
    if status == 0:
        return verdict
    die_like(status)
    return exit_code_of(status)


def _second_run(arguments: Namespace) -> SecondRun | None:
    arguments.not_repeated = ()
    if not arguments.refine or arguments.every is not None:
        return None
    from leakline.cli.refining import SecondRun

    return SecondRun()


def _same_run(arguments: Namespace, recording: str) -> SameRun | None:
    """A program that is looked at from time to time is refined while it runs."""
    if not arguments.refine or arguments.every is None:
        return None
    from leakline.cli.refining import SameRun

    return SameRun(recording)


def _start(
    arguments: Namespace, place: RecordingPlace, path: str, command: list[str]
) -> Child:
    try:
        options = watching.runtime_options(arguments, place.path)
        if planning.is_wanted(arguments):
            options |= planning.plan_before(
                path, arguments.lens, births=arguments.births
            )
        if arguments.refine:
            options["ordinals"] = "1"
            options |= arguments.refining
        if (
            arguments.recording is None
            and arguments.show == presentation.SHOWN_BY_DEFAULT
        ):
            # Nobody will ask this recording again where reachable blocks come from.
            options["reachable"] = "0"
        return Child(path, command, watching_environment(os.environ, options))
    except LeaklineError:
        place.remove()
        raise


def _command(words: list[str]) -> list[str]:
    command = words[1:] if words[:1] == ["--"] else words
    if not command:
        raise UsageError(
            "name the program: leakline run [OPTIONS] -- PROGRAM ARGUMENTS"
        )
    return command


def _reports_to_descriptor(report_file: str | None) -> bool:
    """Whether the report goes to a file that is open already, as /dev/stdout is."""
    return report_file is not None and report_file.startswith(("/dev/", "/proc/"))


def _wait(
    child: Child, arguments: Namespace, recording: str, same: SameRun | None
) -> int:
    if arguments.every is None:
        return child.wait()
    from pathlib import Path

    from leakline.cli.snapshots import Periodic, follow

    with follow(Path(recording)) as follower:
        periodic = Periodic(follower)

        def look() -> None:
            if same is not None:
                same.look(child.pid, births=arguments.births)
            periodic.look()

        try:
            return child.wait(arguments.every, look)
        finally:
            if same is not None:
                same.clear()


def _report(
    arguments: Namespace, place: RecordingPlace, command: list[str], status: int
) -> int:
    """Prints the report; returns the exit code for a program that succeeded."""
    from leakline.cli.main import complain

    try:
        report = _load(arguments, place, command, status)
        leaked = presentation.show(report, arguments, fallback=sys.stderr)
    except LeaklineError as error:
        # The program ran and its result stands; only the report failed.
        complain(str(error))
        return error.exit_code
    if leaked:
        return presentation.failure_code(arguments)
    return 0 if _was_active(report) else ProgramError.exit_code


def _was_active(report: Report) -> bool:
    from leakline.model.report import LensState

    return any(state is LensState.ACTIVE for _, state in report.run.lenses)


def _load(
    arguments: Namespace, place: RecordingPlace, command: list[str], status: int
) -> Report:
    from dataclasses import replace
    from pathlib import Path

    from leakline.cli.loading import load_recording

    loaded = load_recording(Path(place.path), arguments)
    watched_run = replace(
        loaded.run,
        command=tuple(command),
        exit_code=exit_code_of(status),
        not_seen=(
            *loaded.run.not_seen,
            *(planning.plan_after(place.path) if planning.is_wanted(arguments) else ()),
            *arguments.not_repeated,
            *_about_survivors(place),
        ),
    )
    return replace(loaded, run=watched_run)


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
