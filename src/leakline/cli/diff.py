"""Compares two recordings or JSON reports: what is new, what has grown, what is gone.

The report lists the new leaks in full; the exit code is 23 (or --error-exitcode) when
there are any.
"""

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from leakline.cli import presentation


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the options of `leakline diff`."""
    parser.add_argument("before", metavar="BEFORE", help="the earlier one")
    parser.add_argument("after", metavar="AFTER", type=Path, help="the later one")
    presentation.add_arguments(parser, error_exit_code=presentation.LEAKS_EXIT_CODE)


def run(arguments: Namespace) -> int:
    """Prints the later report, compared; returns --error-exitcode for new leaks."""
    arguments.baseline = arguments.before
    presentation.check(arguments)
    from leakline.cli.loading import load_file

    report = load_file(arguments.after, arguments)
    leaked = presentation.show(report, arguments, fallback=sys.stdout)
    return presentation.failure_code(arguments) if leaked else 0
