"""The way from a recording to a report: read, merge, name, describe."""

from pathlib import Path
from typing import NamedTuple

from leakline.dynamic.dead_slots import DeadSlots, move_dead
from leakline.dynamic.findings import hidden_totals, make_findings
from leakline.dynamic.merge import Groups, add_snapshot, used_stacks
from leakline.dynamic.not_seen import incomplete_stacks, not_seen
from leakline.dynamic.process_log import (
    ProcessLog,
    chosen_snapshot,
    read_processes,
)
from leakline.dynamic.processes import describe_run
from leakline.dynamic.same_lines import SameLines, merge_same_lines
from leakline.dynamic.stack_table import ProcessStacks, StackTable
from leakline.dynamic.stacks import StackBuilder
from leakline.model.finding import Finding, Kind
from leakline.model.report import Report
from leakline.recording.reader import open_recording
from leakline.symbols.resolve import Module, Progress, Resolved, resolve

LEAKS = frozenset({Kind.LOST, Kind.INDIRECT})
ALL_KINDS = LEAKS | {Kind.REACHABLE}


class Loaded(NamedTuple):
    """A report, and the texts of suppressions that the programs themselves carry."""

    report: Report
    suppressions: tuple[str, ...]


class _Found(NamedTuple):
    findings: tuple[Finding, ...]
    hidden: tuple[Finding, ...]
    notes: list[str]


def load(
    path: Path,
    *,
    show: frozenset[Kind] = LEAKS,
    pid: int | None = None,
    progress: Progress | None = None,
) -> Report:
    """Reads a recording and reports what was found.

    Args:
        path: The recording.
        show: Kinds that become findings; others are only counted, in `Report.hidden`.
        pid: Report this process only.
        progress: Called now and then with a stage, work done and work in all.

    Raises:
        RecordingError: The file is no recording that can be read.
    """
    return load_with_suppressions(path, show=show, pid=pid, progress=progress).report


def load_with_suppressions(
    path: Path,
    *,
    show: frozenset[Kind] = LEAKS,
    pid: int | None = None,
    progress: Progress | None = None,
) -> Loaded:
    """Like `load`; also gives the suppressions that the programs carry."""
    with open_recording(path) as recording:
        if progress is not None:
            progress("reading the recording", 0, 1)
        everyone = read_processes(recording).values()
        damage = recording.damage
    logs = [log for log in everyone if pid is None or log.key.pid == pid]
    found = _find(logs, show, progress)
    sentences = [
        *not_seen(logs, damage),
        *incomplete_stacks(found.findings),
        *found.notes,
    ]
    texts = dict.fromkeys(text for log in logs for text in log.suppressions)
    run = describe_run(logs, sentences)
    return Loaded(Report(run, found.findings, hidden=found.hidden), tuple(texts))


def _find(
    logs: list[ProcessLog], show: frozenset[Kind], progress: Progress | None
) -> _Found:
    table = StackTable()
    groups = _merge(logs, table)
    shown = [key for key in groups if key.kind in show]
    resolved = _name(table, used_stacks(shown), progress)
    merged = merge_same_lines(groups, shown, SameLines(table, resolved.frames))
    return _Found(
        make_findings(merged, StackBuilder(table, resolved.frames)),
        hidden_totals(groups, ALL_KINDS - show),
        resolved.notes,
    )


def _merge(logs: list[ProcessLog], table: StackTable) -> Groups:
    groups: Groups = {}
    judge = DeadSlots()
    for log in logs:
        snapshot = chosen_snapshot(log)
        if snapshot is not None:
            stacks = ProcessStacks(log, table)
            add_snapshot(groups, log, snapshot, stacks)
            move_dead(groups, log, snapshot, stacks, judge)
    return groups


def _name(table: StackTable, stacks: set[int], progress: Progress | None) -> Resolved:
    """Names every call on the way from some stacks to their outermost frames."""
    requests: dict[Module, set[int]] = {}
    seen: set[int] = set()
    for number in stacks:
        while number and number not in seen:
            seen.add(number)
            call = table.calls[number]
            if call.address is not None:
                offsets = requests.setdefault(call.address.module, set())
                offsets.add(call.address.offset)
            number = call.parent  # noqa: PLW2901 -- walks from a stack to its root
    return resolve(requests, progress)
