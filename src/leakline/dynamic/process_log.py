"""Everything one process wrote into the recording, sorted for use.

A process may look at its heap several times, and a copy of it may still be writing one
look while it writes the next; so open snapshots are kept per writer, and the last
complete one counts.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from leakline.recording._format import (
    BirthRecord,
    ClocksRecord,
    ExecFailedRecord,
    ExecRecord,
    ForkRecord,
    Group,
    GroupRecord,
    HeapTotalsRecord,
    IdleRecord,
    MergingRecord,
    ModuleRecord,
    NodeRecord,
    NotSeenRecord,
    OptionRecord,
    ProcessEndRecord,
    ProcessStartRecord,
    Record,
    ReferenceRecord,
    RefinableRecord,
    RefinedRecord,
    RefinedStepRecord,
    SamplingRecord,
    SiblingFreeRecord,
    SnapshotBeginRecord,
    SnapshotEndRecord,
    SpawnRecord,
    StackHeldRecord,
    SuppressionsRecord,
    TouchedRecord,
    TouchStacksRecord,
    TrackingRecord,
    Trigger,
    UsedBeforeRecord,
)
from leakline.recording.chunks import ProcessKey
from leakline.recording.reader import RecordingFile, Writer

_LOST = frozenset({Group.LOST, Group.INDIRECT})


@dataclass(slots=True)
class Snapshot:
    """One look at the heap; `complete` says that its end was written."""

    begin: SnapshotBeginRecord
    groups: list[GroupRecord] = field(default_factory=list)
    births: dict[int, int] = field(default_factory=dict)  # nodes by block
    held: list[StackHeldRecord] = field(default_factory=list)
    references: list[ReferenceRecord] = field(default_factory=list)
    refinable: list[tuple[GroupRecord, RefinableRecord]] = field(default_factory=list)
    idle: list[IdleRecord] = field(default_factory=list)
    tracking: TrackingRecord | None = None
    merging: MergingRecord | None = None
    touch_stacks: TouchStacksRecord | None = None
    clocks: list[ClocksRecord] = field(default_factory=list)
    touched: list[TouchedRecord] = field(default_factory=list)
    sampling: SamplingRecord | None = None
    sibling_frees: list[SiblingFreeRecord] = field(default_factory=list)
    used_before: dict[int, UsedBeforeRecord] = field(default_factory=dict)
    totals: HeapTotalsRecord | None = None
    complete: bool = False


class Moment(NamedTuple):
    """What one snapshot counted, kept when its groups are forgotten."""

    number: int
    realtime_ns: int
    live_blocks: int
    live_bytes: int
    lost_bytes: int


@dataclass(slots=True)
class ProcessLog:
    """The records of one process.

    Attributes:
        latest: The last complete snapshot, None when there is none.
        before: The complete one before it, which counts if an exec fails.
        unfinished: Snapshots that were begun and never ended, by writer.
        execs: Paths of the programs the process became; at most the last one counts.
        moments: What each complete snapshot counted.
        is_finished: The heap was handed on and forgotten.
        suppressions: Texts of suppressions that the program carries.
        refined: Of a second run, what became of each block it watched.
        refined_steps: The points it passed.
    """

    key: ProcessKey
    start: ProcessStartRecord | None = None
    end: ProcessEndRecord | None = None
    options: dict[str, str] = field(default_factory=dict)
    not_seen: list[NotSeenRecord] = field(default_factory=list)
    suppressions: list[str] = field(default_factory=list)
    modules: dict[int, ModuleRecord] = field(default_factory=dict)
    nodes: dict[int, NodeRecord] = field(default_factory=dict)
    latest: Snapshot | None = None
    before: Snapshot | None = None
    unfinished: dict[int, Snapshot] = field(default_factory=dict)
    forks: list[int] = field(default_factory=list)
    spawns: list[tuple[int, str]] = field(default_factory=list)
    execs: list[str] = field(default_factory=list)
    moments: list[Moment] = field(default_factory=list)
    is_finished: bool = False
    refined: list[RefinedRecord] = field(default_factory=list)
    refined_steps: list[RefinedStepRecord] = field(default_factory=list)

    @property
    def command(self) -> tuple[str, ...]:
        """Arguments of the program, the first being the path of its file."""
        if self.start is None:
            return ()
        path, *arguments = decode_text(self.start.text).split("\0")
        return (path, *arguments[1:])

    @property
    def name(self) -> str:
        """How sentences call the process."""
        program = self.command[0] if self.command else "an unnamed program"
        return f"process {self.key.pid} ({program})"


def read_processes(
    recording: RecordingFile,
    finished: Callable[[ProcessLog], None],
    progress: Callable[[int, int], None] | None = None,
) -> list[ProcessLog]:
    """Reads the whole recording; processes come in order of appearance.

    Calls `finished` once for each process when its heap is complete, and forgets the
    heap after that: a run may have thousands of processes.
    """
    logs: dict[ProcessKey, ProcessLog] = {}
    for writer, record in recording.records(progress):
        log = logs.get(writer.process)
        if log is None:
            log = logs[writer.process] = ProcessLog(writer.process)
        take_record(log, writer, record)
        if type(record) is ProcessEndRecord:
            _finish_process(log, finished)
    for log in logs.values():
        _finish_process(log, finished)
    return list(logs.values())


def take_record(log: ProcessLog, writer: Writer, record: Record) -> None:
    """Sorts one record into the log of its process."""
    if type(record) is NodeRecord:
        log.nodes[record.id] = record
    elif type(record) is GroupRecord:
        if snapshot := log.unfinished.get(writer.pid):
            snapshot.groups.append(record)
    else:
        _take(log, writer, record)


def _finish_process(log: ProcessLog, finished: Callable[[ProcessLog], None]) -> None:
    if not log.is_finished:
        log.is_finished = True
        finished(log)
    log.nodes.clear()
    for snapshot in filter(None, (log.latest, log.before)):
        snapshot.groups.clear()
        snapshot.births.clear()
        snapshot.held.clear()
        snapshot.references.clear()
        snapshot.refinable.clear()
        snapshot.idle.clear()
        snapshot.touched.clear()
        snapshot.sibling_frees.clear()
        snapshot.used_before.clear()


def _take(log: ProcessLog, writer: Writer, record: Record) -> None:
    match record:
        case ModuleRecord():
            log.modules[record.id] = record
        case ProcessStartRecord():
            log.start = record
        case ProcessEndRecord():
            log.end = record
        case OptionRecord():
            name, _, value = decode_text(record.text).partition("=")
            log.options[name] = value
        case NotSeenRecord():
            log.not_seen.append(record)
        case RefinedRecord():
            log.refined.append(record)
        case RefinedStepRecord():
            log.refined_steps.append(record)
        case SuppressionsRecord():
            log.suppressions.append(decode_text(record.text))
        case _:
            _take_event(log, writer, record)


def _take_event(log: ProcessLog, writer: Writer, record: Record) -> None:
    match record:
        case ForkRecord():
            log.forks.append(record.child_pid)
        case SpawnRecord():
            log.spawns.append((record.child_pid, decode_text(record.text)))
        case ExecRecord():
            log.execs.append(decode_text(record.text))
        case ExecFailedRecord():
            _undo_exec(log)
        case _:
            _take_snapshot(log, writer, record)


def _take_snapshot(log: ProcessLog, writer: Writer, record: Record) -> None:
    if isinstance(record, SnapshotBeginRecord):
        log.unfinished[writer.pid] = Snapshot(record)
        return
    snapshot = log.unfinished.get(writer.pid)
    if snapshot is None:
        return
    if isinstance(record, SnapshotEndRecord):
        snapshot.complete = True
        del log.unfinished[writer.pid]
        _finish(log, snapshot)
    else:
        _add_to_snapshot(snapshot, record)


def _add_to_snapshot(snapshot: Snapshot, record: Record) -> None:
    match record:
        case StackHeldRecord():
            snapshot.held.append(record)
        case ReferenceRecord():
            snapshot.references.append(record)
        case BirthRecord():
            snapshot.births[record.address] = record.birth
        case RefinableRecord():
            if snapshot.groups:
                snapshot.refinable.append((snapshot.groups[-1], record))
        case HeapTotalsRecord():
            snapshot.totals = record
        case _:
            _take_pages(snapshot, record)


def _take_pages(snapshot: Snapshot, record: Record) -> None:
    match record:
        case IdleRecord():
            snapshot.idle.append(record)
        case TrackingRecord():
            snapshot.tracking = record
        case MergingRecord():
            snapshot.merging = record
        case TouchStacksRecord():
            snapshot.touch_stacks = record
        case ClocksRecord():
            snapshot.clocks.append(record)
        case _:
            _take_accesses(snapshot, record)


def _take_accesses(snapshot: Snapshot, record: Record) -> None:
    match record:
        case TouchedRecord():
            snapshot.touched.append(record)
        case SiblingFreeRecord():
            snapshot.sibling_frees.append(record)
        case UsedBeforeRecord():
            snapshot.used_before[record.last_access] = record
        case SamplingRecord():
            snapshot.sampling = record
        case _:
            pass


def _finish(log: ProcessLog, snapshot: Snapshot) -> None:
    """A copy may end after a later look did; the number tells which is newer."""
    if snapshot.totals is not None:
        log.moments.append(_moment(snapshot, snapshot.totals))
    if log.latest is None or snapshot.begin.number >= log.latest.begin.number:
        log.before, log.latest = log.latest, snapshot


def _moment(snapshot: Snapshot, totals: HeapTotalsRecord) -> Moment:
    return Moment(
        snapshot.begin.number,
        snapshot.begin.realtime_ns,
        totals.live_blocks,
        totals.live_bytes,
        sum(group.bytes for group in snapshot.groups if group.kind in _LOST),
    )


def _undo_exec(log: ProcessLog) -> None:
    if log.execs:
        log.execs.pop()
    if log.latest is not None and log.latest.begin.trigger == Trigger.EXEC:
        log.latest, log.before = log.before, None


def chosen_snapshot(log: ProcessLog) -> Snapshot | None:
    """What is reported of a process: its last complete look, else an incomplete one."""
    if log.latest is not None:
        return log.latest
    return max(_unfinished(log), key=lambda one: one.begin.number, default=None)


def _unfinished(log: ProcessLog) -> Iterator[Snapshot]:
    yield from log.unfinished.values()


def last_seen_ns(log: ProcessLog) -> int:
    """When the process last gave a sign of life, as time since the epoch."""
    signs = [
        record.realtime_ns for record in (log.start, log.end) if record is not None
    ]
    if log.latest is not None:
        signs.append(log.latest.begin.realtime_ns)
    return max(signs, default=0)


def decode_text(text: bytes) -> str:
    """Text of a record; bytes that are not UTF-8 stay visible as escapes."""
    return text.decode("utf-8", "backslashreplace")
