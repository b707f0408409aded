"""Renders recordings and JSON reports again, with other options or on another day.

Several files become one report: runs are added up, and what `leakline check` found is
joined with what a run lost.
"""

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from leakline.cli import presentation


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the options of `leakline report`."""
    parser.add_argument(
        "recordings",
        metavar="FILE",
        type=Path,
        nargs="+",
        help="recordings and JSON reports, also of `leakline check`; several become one",
    )
    presentation.add_baseline_argument(parser)
    presentation.add_arguments(parser, error_exit_code=0)


def run(arguments: Namespace) -> int:
    """Prints the report; returns --error-exitcode when it has leaks."""
    presentation.check(arguments)
    from leakline.cli.loading import load_files

    report = load_files(arguments.recordings, arguments)
    leaked = presentation.show(report, arguments, fallback=sys.stdout)
    return presentation.failure_code(arguments) if leaked else 0
