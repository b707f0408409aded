"""Renders a recording or a JSON report again, with other options or on another day."""

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from leakline.cli import presentation


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the options of `leakline report`."""
    parser.add_argument("recording", metavar="FILE", type=Path, help="the recording")
    presentation.add_baseline_argument(parser)
    presentation.add_arguments(parser, error_exit_code=0)


def run(arguments: Namespace) -> int:
    """Prints the report; returns --error-exitcode when it has leaks."""
    presentation.check(arguments)
    from leakline.cli.loading import load_file

    report = load_file(arguments.recording, arguments)
    leaked = presentation.show(report, arguments, fallback=sys.stdout)
    return presentation.failure_code(arguments) if leaked else 0
