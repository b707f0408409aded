"""Looks at the heap of a watched program while it runs, and reports what it lost.

The program goes on: a copy of it looks. It must have been started by `leakline run` or
with the environment of `leakline preload`, by the same user (or you are root).
"""

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from leakline.cli import presentation
from leakline.cli.arguments import count, seconds
from leakline.cli.options import VARIABLE, parse_options
from leakline.errors import ProgramError


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the options of `leakline snapshot`."""
    parser.add_argument("pid", metavar="PID", type=count, help="the process")
    parser.add_argument(
        "--recording",
        metavar="FILE",
        type=Path,
        help="its recording, where the process does not tell (default: ask it)",
    )
    parser.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=seconds,
        default=60.0,
        help="how long to wait for the snapshot (default: 60)",
    )
    presentation.add_baseline_argument(parser)
    presentation.add_arguments(parser, error_exit_code=0)


def run(arguments: Namespace) -> int:
    """Takes a snapshot and prints its report."""
    presentation.check(arguments)
    from leakline.cli.loading import load_recording
    from leakline.cli.snapshots import take_snapshot

    recording = arguments.recording or _recording_of(arguments.pid)
    take_snapshot(arguments.pid, recording, arguments.timeout)
    report = load_recording(recording, arguments, pid=arguments.pid)
    leaked = presentation.show(report, arguments, fallback=sys.stdout)
    return presentation.failure_code(arguments) if leaked else 0


def _recording_of(pid: int) -> Path:
    """The recording that the process writes, from the environment it began with."""
    import os

    from leakline.cli.snapshots import DEFAULT_SIGNAL
    from leakline.live.processes import (
        environment_of,
        open_process,
        path_seen_by,
        refuse_unwatched,
    )

    os.close(open_process(pid))
    options = parse_options(environment_of(pid).get(VARIABLE, ""))
    if not options.get("recording"):
        refuse_unwatched(pid, DEFAULT_SIGNAL)
        raise ProgramError(
            f"process {pid} does not tell where its recording is; name it with "
            "--recording FILE"
        )
    return path_seen_by(pid, options["recording"])
