"""The way from a recording to a report: read, merge, name, describe."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

from leakline.dynamic.accesses import add_touched, sampling_sentences
from leakline.dynamic.dead_slots import DeadSlots, move_dead
from leakline.dynamic.findings import hidden_totals, make_findings
from leakline.dynamic.merge import Groups, add_snapshot, used_stacks
from leakline.dynamic.not_seen import incomplete_stacks, not_seen, unjudged_slots
from leakline.dynamic.pages import STALE_AFTER_S, add_idle
from leakline.dynamic.process_log import (
    ProcessLog,
    chosen_snapshot,
    last_seen_ns,
    read_processes,
)
from leakline.dynamic.processes import describe_run
from leakline.dynamic.same_lines import SameLines, merge_same_lines
from leakline.dynamic.sites import site_frames
from leakline.dynamic.stack_table import ProcessStacks, StackTable
from leakline.dynamic.stacks import StackBuilder, name_signal_frames
from leakline.dynamic.staleness import Predicate, Test
from leakline.dynamic.traces import (
    Trace,
    TraceKey,
    is_second_run,
    join_traces,
    traces,
)
from leakline.dynamic.tracking import tracking_remarks
from leakline.model.finding import Finding, Kind
from leakline.model.report import Report
from leakline.model.stack import Frame
from leakline.recording.reader import open_recording
from leakline.symbols.resolve import Module, Progress, resolve

LEAKS = frozenset({Kind.LOST, Kind.INDIRECT})
ALL_KINDS = LEAKS | {Kind.REACHABLE, Kind.STALE, Kind.NEVER_USED}


class Loaded(NamedTuple):
    """A report, and the texts of suppressions that the programs themselves carry."""

    report: Report
    suppressions: tuple[str, ...]


class _Found(NamedTuple):
    findings: tuple[Finding, ...]
    hidden: tuple[Finding, ...]
    notes: list[str]


def load(  # noqa: PLR0913 - all but the path have usual values
    path: Path,
    *,
    show: frozenset[Kind] = LEAKS,
    pid: int | None = None,
    stale_after_s: float = STALE_AFTER_S,
    stale: Predicate | None = None,
    progress: Progress | None = None,
) -> Report:
    """Reads a recording and reports what was found.

    Args:
        path: The recording.
        show: Kinds that become findings; others are only counted, in `Report.hidden`.
        pid: Report this process only.
        stale_after_s: Blocks idle for that long count as stale.
        stale: Another test for that, which only lens `accesses` knows.
        progress: Called now and then with a stage, work done and work in all.

    Raises:
        RecordingError: The file is no recording that can be read.
    """
    return load_with_suppressions(
        path,
        show=show,
        pid=pid,
        stale_after_s=stale_after_s,
        stale=stale,
        progress=progress,
    ).report


def load_with_suppressions(  # noqa: PLR0913 - as `load`
    path: Path,
    *,
    show: frozenset[Kind] = LEAKS,
    pid: int | None = None,
    stale_after_s: float = STALE_AFTER_S,
    stale: Predicate | None = None,
    progress: Progress | None = None,
) -> Loaded:
    """Like `load`; also gives the suppressions that the programs carry."""
    with _no_collector():
        heap = _Heap(stale_after_s, stale or Predicate(Test.IDLE, stale_after_s * 1000))
        return _load(path, show, pid, heap, progress)


@contextmanager
def _no_collector() -> Iterator[None]:
    """Millions of small objects are made and all are kept: nothing to collect."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _load(
    path: Path,
    show: frozenset[Kind],
    pid: int | None,
    heap: "_Heap",
    progress: Progress | None,
) -> Loaded:
    with open_recording(path) as recording:
        everyone = read_processes(
            recording,
            lambda log: (
                heap.add(log) if is_second_run(log) or _is_asked(log, pid) else None
            ),
            partial(progress, "reading the recording") if progress else None,
        )
        damage = recording.damage
    logs = [log for log in everyone if _is_asked(log, pid) and not is_second_run(log)]
    found = _find(heap, show, max(map(last_seen_ns, logs), default=0), progress)
    sentences = [
        *not_seen(logs, damage, asked_pid=pid),
        *incomplete_stacks(found.findings),
        *unjudged_slots(heap.judge.unjudged_frames),
        *found.notes,
        *sampling_sentences(logs),
    ]
    texts = dict.fromkeys(text for log in logs for text in log.suppressions)
    run = describe_run(logs, sentences, tracking_remarks(logs))
    return Loaded(Report(run, found.findings, hidden=found.hidden), tuple(texts))


def _is_asked(log: ProcessLog, pid: int | None) -> bool:
    return pid is None or log.key.pid == pid


@dataclass(slots=True)
class _Heap:
    """The heaps of all processes, added up."""

    stale_after_s: float
    stale: Predicate
    groups: Groups = field(default_factory=dict)
    table: StackTable = field(default_factory=StackTable)
    judge: DeadSlots = field(default_factory=DeadSlots)
    traces: dict[TraceKey, Trace] = field(default_factory=dict)

    def add(self, log: ProcessLog) -> None:
        snapshot = chosen_snapshot(log)
        if log.refined:
            seen = traces(log, ProcessStacks(log, self.table))
            self.traces = join_traces(self.traces, seen)
        if is_second_run(log):
            return
        if snapshot is not None:
            stacks = ProcessStacks(log, self.table)
            add_snapshot(self.groups, log, snapshot, stacks)
            move_dead(self.groups, log, snapshot, stacks, self.judge)
            add_idle(self.groups, log, snapshot, stacks, self.stale_after_s)
            add_touched(self.groups, log, snapshot, stacks, self.stale)


def _find(
    heap: _Heap, show: frozenset[Kind], recorded_ns: int, progress: Progress | None
) -> _Found:
    groups, table = heap.groups, heap.table
    shown = [key for key in groups if key.kind in show]
    used = used_stacks(groups, shown) | {trace.loss for trace in heap.traces.values()}
    frames, notes = name_addresses(table, used - {0}, recorded_ns, progress)
    if progress is not None:
        progress("sorting findings", 0, 1)
    same = SameLines(table, frames)
    merged = merge_same_lines(groups, shown, same)
    known = {TraceKey(key.stack, key.loss) for key in shown}
    found = {
        TraceKey(same.first(key.stack), same.first(key.loss)): trace
        for key, trace in heap.traces.items()
        if key in known
    }
    return _Found(
        make_findings(merged, StackBuilder(table, frames), found),
        hidden_totals(groups, ALL_KINDS - show),
        notes,
    )


def name_addresses(
    table: StackTable, stacks: set[int], recorded_ns: int, progress: Progress | None
) -> tuple[dict[int, tuple[Frame, ...]], list[str]]:
    """The frames of each address that some stacks use, and what was missing."""
    requests: dict[Module, list[int]] = {}
    used = sorted(table.used_addresses(stacks))
    sites = site_frames(table, used)
    for index in (index for index in used if index not in sites):
        module, offset = table.addresses[index]
        requests.setdefault(module, []).append(offset)
    resolved = resolve(requests, progress, recorded_ns=recorded_ns)
    frames = {
        index: sites.get(index) or resolved.frames[table.addresses[index]]
        for index in used
    }
    return name_signal_frames(table, frames), resolved.notes
