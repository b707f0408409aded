"""Tells the whole story of one finding in plain words, and what to do about it.

A finding is named by its id, by the beginning of it, or by its number in the report.
"""

import os
import sys
from argparse import ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path

from leakline.cli import presentation
from leakline.errors import UsageError


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the options of `leakline explain`."""
    parser.add_argument("id", metavar="ID", help="id or number of the finding")
    parser.add_argument(
        "recordings",
        metavar="FILE",
        type=Path,
        nargs="+",
        help="recordings and JSON reports, also of `leakline check`; several become one",
    )
    presentation.add_privacy_arguments(parser)
    presentation.add_selection_arguments(parser)
    parser.set_defaults(baseline=None, report_file=None)


def run(arguments: Namespace) -> int:
    """Prints the story; a finding that is not there is a `UsageError`."""
    presentation.check_privacy(arguments)
    presentation.read_named_files(arguments)
    from leakline.cli.loading import load_files
    from leakline.reports.explanation import explain
    from leakline.reports.redaction import redact
    from leakline.reports.style import style_for
    from leakline.triage.naming import find_finding

    report = load_files(arguments.recordings, arguments)
    folder = presentation.current_folder()
    shown = redact(report, presentation.privacy(arguments, folder))
    finding = find_finding(shown.report, arguments.id)
    if finding is None:
        raise UsageError(
            f"there is no finding {arguments.id!r} in "
            f"{', '.join(map(str, arguments.recordings))}, or several begin so; "
            "`leakline report FILE` numbers them, and --format json gives their ids"
        )
    style = replace(
        style_for(sys.stdout, os.environ, folder),
        with_source=not arguments.no_source,
        originals=shown.originals,
    )
    presentation.print_text(explain(finding, style), sys.stdout)
    return 0
