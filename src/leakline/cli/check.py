"""Finds leaks in C and C++ source, also on paths that no test runs.

The exit code is 0 when everything was looked at and nothing found, 23 (or
--error-exitcode) when something was found, and 6 when nothing was found but something
could not be looked at.
"""

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from leakline.cli import presentation
from leakline.cli.arguments import Parser, count, exit_code
from leakline.cli.checking.work import check
from leakline.errors import CheckError
from leakline.model.report import Report
from leakline.triage.comparison import compare
from leakline.triage.suppression_files import read_suppressions
from leakline.triage.suppressions import apply_suppressions

FOUND_EXIT_CODE = 23


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the options of `leakline check`."""
    parser.add_argument(
        "inputs",
        metavar="FILE.c | FOLDER | -- BUILD COMMAND",
        nargs="*",
        type=Path,
        help="sources, folders with a compile_commands.json, or a build to watch",
    )
    if isinstance(parser, Parser):
        parser.keep_after_dashes("build")
    _add_source_arguments(parser)
    _add_analysis_arguments(parser)
    _add_report_arguments(parser)


def _add_source_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "-I",
        dest="include",
        metavar="FOLDER",
        action="append",
        default=[],
        help="look for headers of named sources here; may be repeated",
    )
    parser.add_argument(
        "-D",
        dest="define",
        metavar="MACRO[=VALUE]",
        action="append",
        default=[],
        help="define a macro for named sources; may be repeated",
    )
    parser.add_argument("--clang", metavar="PATH", help="the clang 19 to read with")
    parser.add_argument(
        "--no-cache",
        action="store_true",
        help="read every source again, and keep nothing for the next check",
    )


def _add_analysis_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--model",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        help="read models of library functions from FILE; may be repeated",
    )
    parser.add_argument(
        "--malloc-may-fail",
        action="store_true",
        help="also follow the paths on which an allocation fails",
    )
    parser.add_argument(
        "--null-dereference",
        action="store_true",
        help="also report unchecked uses of an allocation that may fail",
    )
    parser.add_argument(
        "-j",
        "--jobs",
        metavar="N",
        type=count,
        default=0,
        help="processes to use (default: one for each core)",
    )
    parser.add_argument(
        "--scheduler",
        metavar="tcp://HOST:PORT",
        default="",
        help="analyse on the Dask cluster of this scheduler instead",
    )


def _add_report_arguments(parser: ArgumentParser) -> None:
    presentation.add_format_arguments(parser)
    parser.add_argument(
        "--suppressions",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        help="hide what FILE names, in Valgrind's or LSan's format; may be repeated",
    )
    parser.add_argument(
        "--baseline",
        metavar="FILE",
        type=Path,
        help="list and fail for what FILE, an earlier JSON report, does not have",
    )
    parser.add_argument(
        "--error-exitcode",
        metavar="N",
        type=exit_code,
        default=FOUND_EXIT_CODE,
        help=f"exit code when something is found ({FOUND_EXIT_CODE})",
    )
    parser.set_defaults(gen_suppressions=None, quiet=False, verbose=False)


def run(arguments: Namespace) -> int:
    """Checks, reports, and returns the exit code."""
    presentation.check_format(arguments)
    presentation.check_privacy(arguments)
    baseline = _baseline(arguments.baseline) if arguments.baseline else None
    entries = [e for path in arguments.suppressions for e in read_suppressions(path)]
    report = apply_suppressions(check(arguments), entries)
    if baseline is not None:
        report = compare(report, baseline, str(arguments.baseline))
    presentation.show(report, arguments, fallback=sys.stdout)
    if report.findings:
        return int(arguments.error_exitcode)
    return CheckError.exit_code if report.run.not_seen else 0


def _baseline(path: Path) -> Report:
    from leakline.cli.loading import load_whole

    return load_whole(path, frozenset())
