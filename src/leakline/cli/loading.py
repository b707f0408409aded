"""From a recording to the report that a user asked for."""

from __future__ import annotations

import gc
import os
from dataclasses import replace
from typing import TYPE_CHECKING

from leakline.cli import presentation
from leakline.cli.progress import Progress
from leakline.dynamic.load import LEAKS, Loaded, load, load_with_suppressions
from leakline.errors import RecordingError, SuppressionError
from leakline.reports.json_reader import read_report
from leakline.triage.comparison import compare
from leakline.triage.joining import join
from leakline.triage.own_allocators import leave_out
from leakline.triage.selection import select
from leakline.triage.suppression_files import parse_suppressions
from leakline.triage.suppressions import apply_suppressions

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence
    from pathlib import Path

    from leakline.model.finding import Kind
    from leakline.model.report import Report
    from leakline.triage.suppressions import Suppression

_LARGEST_REPORT_BYTES = 1 << 30


def load_recording(
    path: Path, arguments: Namespace, *, pid: int | None = None
) -> Report:
    """Reads, names, suppresses, ranks and selects; of one process if `pid` is given.

    Raises:
        RecordingError: The file is not a recording.
        SuppressionError: A suppression cannot be understood.
    """
    return _joined([_read_recording(path, arguments, pid)], arguments)


def load_file(path: Path, arguments: Namespace) -> Report:
    """Like `load_recording`, for a file that may also be a JSON report."""
    return load_files([path], arguments)


def load_files(paths: Sequence[Path], arguments: Namespace) -> Report:
    """Like `load_file`, for several files that become one report."""
    return _joined([read_file(path, arguments) for path in paths], arguments)


def _joined(loaded: list[Loaded], arguments: Namespace) -> Report:
    """One report of these and of the files that --with names."""
    loaded += arguments.loaded_joined
    allocators = presentation.own_allocators(arguments)
    reports = [one.report for one in loaded]
    if allocators is not None:
        reports = [leave_out(one, allocators) for one in reports]
    report = join(reports)
    texts = dict.fromkeys(text for one in loaded for text in one.suppressions)
    own, complaints = _suppressions_of_programs(tuple(texts))
    from_files = presentation.suppressions_from_files(arguments)
    report = apply_suppressions(report, [*from_files, *own])
    run = replace(report.run, not_seen=(*report.run.not_seen, *complaints))
    return _chosen(replace(report, run=run), arguments)


def read_file(path: Path, arguments: Namespace) -> Loaded:
    """A recording or JSON report as it is, with the suppressions of its programs."""
    report = _read_json_report(path)
    if report is None:
        return _read_recording(path, arguments, None)
    return Loaded(report, ())


def _read_recording(path: Path, arguments: Namespace, pid: int | None) -> Loaded:
    kinds = presentation.shown_kinds(arguments)
    with Progress() as progress:
        loaded = load_with_suppressions(
            path,
            show=kinds | LEAKS,
            pid=pid,
            stale_after_s=arguments.stale_after,
            stale=presentation.stale_predicate(arguments),
            progress=progress.update,
        )
    # All of it lives until the command ends, so the collector need not look at it.
    gc.freeze()
    return loaded


def load_whole(path: Path, kinds: frozenset[Kind]) -> Report:
    """All leaks of a recording or JSON report, and findings of some other kinds.

    Suppressions are not applied: what a baseline has is known, whoever wants to see it.
    """
    report = _read_json_report(path)
    if report is not None:
        return report
    with Progress() as progress:
        return load(path, show=kinds | LEAKS, progress=progress.update)


def _read_json_report(path: Path) -> Report | None:
    """The report in a file; None when the file must be a recording."""
    try:
        with path.open("rb") as file:
            if file.read(1) != b"{":
                return None
            too_large = os.fstat(file.fileno()).st_size > _LARGEST_REPORT_BYTES
            content = b"" if too_large else file.read(_LARGEST_REPORT_BYTES)
    except OSError:
        # The reader of recordings says what is wrong with the file.
        return None
    if too_large or len(content) == _LARGEST_REPORT_BYTES:
        raise RecordingError(f"{path} is too large for a JSON report")
    return read_report(b"{" + content, str(path))


def _chosen(report: Report, arguments: Namespace) -> Report:
    """Leaves out what the baseline knows, then what the user did not ask for."""
    baseline = presentation.baseline(arguments)
    if baseline is not None:
        report = compare(report, baseline, arguments.baseline)
    return select(
        report, presentation.shown_kinds(arguments), arguments.top, arguments.sort
    )


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
