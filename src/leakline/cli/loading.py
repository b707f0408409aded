"""From a recording to the report that a user asked for."""

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from leakline.cli import presentation
from leakline.cli.progress import Progress
from leakline.dynamic.load import LEAKS, load
from leakline.triage.selection import select
from leakline.triage.suppressions import apply_suppressions

if TYPE_CHECKING:
    from leakline.model.report import Report


def load_recording(
    path: Path, arguments: Namespace, *, pid: int | None = None
) -> "Report":
    """Reads, names, suppresses, ranks and selects; of one process if `pid` is given.

    Raises:
        RecordingError: The file is not a recording.
        SuppressionError: A suppression cannot be understood.
    """
    kinds = presentation.shown_kinds(arguments)
    with Progress() as progress:
        report = load(path, show=kinds | LEAKS, progress=progress.update)
    suppressed = apply_suppressions(
        report, presentation.suppressions_from_files(arguments)
    )
    return select(suppressed, kinds, arguments.top)
