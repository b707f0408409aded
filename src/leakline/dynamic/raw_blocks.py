"""Every block and page that lens `pages` knew of at the last look, one by one.

A recording may hold millions of them, so it is read twice: once for the call stacks,
once for the blocks, which are handed on as they come.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from leakline.dynamic.process_log import ProcessLog
from leakline.dynamic.stack_table import ProcessStacks, StackTable
from leakline.dynamic.stacks import StackBuilder
from leakline.errors import RecordingError
from leakline.model.stack import Stack
from leakline.recording._format import (
    Idle,
    ModuleRecord,
    NodeRecord,
    RawBlockRecord,
    RawPageRecord,
    Record,
    SnapshotBeginRecord,
)
from leakline.recording.chunks import ProcessKey
from leakline.recording.reader import open_recording
from leakline.symbols.resolve import Module, resolve


@dataclass(frozen=True, slots=True)
class RawSite:
    """An allocation site; blocks refer to it by its number."""

    number: int
    stack: Stack


@dataclass(frozen=True, slots=True)
class RawBlock:
    """One block; `idle_s` is the lower bound of its idle time, None if not known."""

    address: int
    size_bytes: int
    site: int
    idle_s: float | None
    never_used: bool


@dataclass(frozen=True, slots=True)
class RawPage:
    """One page of the heap, and how many live blocks start on it."""

    address: int
    blocks: int
    idle_s: float | None
    never_used: bool


Raw = RawSite | RawBlock | RawPage


def read_raw(path: Path, pid: int | None = None) -> Iterator[Raw]:
    """All sites, then pages and blocks, of one process at its last look.

    Args:
        path: The recording, made with the option `raw_blocks`.
        pid: The process; without it the first one that has any blocks.

    Raises:
        RecordingError: The recording has no such records.
    """
    index = _index(path, pid)
    yield from _sites(index)
    for number, record in _records(path, index.key):
        if number != index.look:
            continue
        if isinstance(record, RawBlockRecord):
            yield RawBlock(
                record.address,
                record.size,
                record.stack,
                _idle_s(record.flags, record.lower_ms),
                bool(record.flags & Idle.NEVER_USED),
            )
        elif isinstance(record, RawPageRecord):
            yield RawPage(
                record.address,
                record.blocks,
                _idle_s(record.flags, record.lower_ms),
                bool(record.flags & Idle.NEVER_USED),
            )


@dataclass(slots=True)
class _Index:
    """Of one process: its stacks, those that blocks use, and its last look."""

    key: ProcessKey
    log: ProcessLog
    stacks: set[int]
    look: int = 0


def _index(path: Path, pid: int | None) -> _Index:
    found: dict[ProcessKey, _Index] = {}
    with open_recording(path) as recording:
        for writer, record in recording.records():
            key = writer.process
            if pid is not None and key.pid != pid:
                continue
            one = found.get(key)
            if one is None:
                one = found[key] = _Index(key, ProcessLog(key), set())
            _take(one, record)
    with_blocks = [one for one in found.values() if one.stacks]
    if not with_blocks:
        raise RecordingError(
            f"{path} has no records of single blocks: record with "
            "leakline run --lens pages --raw-blocks -o FILE"
        )
    return with_blocks[0]


def _take(index: _Index, record: Record) -> None:
    match record:
        case NodeRecord():
            index.log.nodes[record.id] = record
        case ModuleRecord():
            index.log.modules[record.id] = record
        case SnapshotBeginRecord():
            index.look = max(index.look, record.number)
        case RawBlockRecord():
            index.stacks.add(record.stack)
        case _:
            pass


def _sites(index: _Index) -> Iterator[RawSite]:
    table = StackTable()
    process = ProcessStacks(index.log, table)
    numbers = {stack: process.number(stack) for stack in sorted(index.stacks)}
    requests: dict[Module, list[int]] = {}
    used = sorted(table.used_addresses(numbers.values()))
    for address in used:
        module, offset = table.addresses[address]
        requests.setdefault(module, []).append(offset)
    resolved = resolve(requests)
    frames = {one: resolved.frames[table.addresses[one]] for one in used}
    builder = StackBuilder(table, frames)
    for stack, number in numbers.items():
        yield RawSite(stack, builder.stack(number))


def _records(path: Path, key: ProcessKey) -> Iterator[tuple[int, Record]]:
    """Records of a process with the number of the look that they belong to."""
    looks: dict[int, int] = {}
    with open_recording(path) as recording:
        for writer, record in recording.records():
            if writer.process != key:
                continue
            if isinstance(record, SnapshotBeginRecord):
                looks[writer.pid] = record.number
            yield looks.get(writer.pid, 0), record


def _idle_s(flags: int, lower_ms: int) -> float | None:
    return lower_ms / 1000 if flags & Idle.LOWER else None
