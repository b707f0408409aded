"""From a recording to the report that a user asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from leakline.cli import presentation
from leakline.cli.progress import Progress
from leakline.dynamic.load import LEAKS, load_with_suppressions
from leakline.errors import SuppressionError
from leakline.triage.selection import select
from leakline.triage.suppression_files import parse_suppressions
from leakline.triage.suppressions import apply_suppressions

if TYPE_CHECKING:
    from argparse import Namespace
    from pathlib import Path

    from leakline.model.report import Report
    from leakline.triage.suppressions import Suppression


def load_recording(
    path: Path, arguments: Namespace, *, pid: int | None = None
) -> Report:
    """Reads, names, suppresses, ranks and selects; of one process if `pid` is given.

    Raises:
        RecordingError: The file is not a recording.
        SuppressionError: A suppression cannot be understood.
    """
    kinds = presentation.shown_kinds(arguments)
    with Progress() as progress:
        loaded = load_with_suppressions(
            path, show=kinds | LEAKS, pid=pid, progress=progress.update
        )
    own, complaints = _suppressions_of_programs(loaded.suppressions)
    from_files = presentation.suppressions_from_files(arguments)
    report = apply_suppressions(loaded.report, [*from_files, *own])
    run = replace(report.run, not_seen=(*report.run.not_seen, *complaints))
    return select(replace(report, run=run), kinds, arguments.top)


def _suppressions_of_programs(
    texts: tuple[str, ...],
) -> tuple[list[Suppression], list[str]]:
    """What the programs brought along; their mistakes cannot be mended by the user."""
    suppressions: list[Suppression] = []
    complaints = []
    for text in texts:
        try:
            suppressions += parse_suppressions(text, "")
        except SuppressionError as error:
            complaints.append(f"Suppressions of the program were not used: {error}.")
    return suppressions, complaints
