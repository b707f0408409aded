"""Lens `pages`: from records of idle blocks to groups of stale memory."""

from bisect import bisect_right
from collections import Counter

from leakline.dynamic.idleness import Idleness, Passed
from leakline.dynamic.merge import (
    GroupKey,
    Groups,
    HeapGroup,
    group_at,
    take_reachable,
)
from leakline.dynamic.process_log import ProcessLog, Snapshot
from leakline.dynamic.stack_table import ProcessStacks
from leakline.model.finding import Kind
from leakline.recording._format import ClocksRecord, Idle, IdleRecord

# Blocks idle for less than that many seconds are in use, unless the user says so.
STALE_AFTER_S = 1.0


def add_idle(
    groups: Groups,
    log: ProcessLog,
    snapshot: Snapshot,
    stacks: ProcessStacks,
    stale_after_s: float,
) -> None:
    """Adds one process's idle blocks, as far as they have been idle that long.

    They no longer count as merely reachable.
    """
    for record in snapshot.idle:
        if record.flags & Idle.LOWER and record.lower_ms >= stale_after_s * 1000:
            kind = Kind.NEVER_USED if record.flags & Idle.NEVER_USED else Kind.STALE
            stack = stacks.number(record.stack)
            passed = passed_since(snapshot.clocks, record.lower_ms)
            touch = stacks.number(record.last_use) if record.last_use else 0
            found = _group(record, log.key.pid, passed, touch)
            take_reachable(groups, stack, found)
            group_at(groups, GroupKey(kind, stack, 0)).add(found)


def passed_since(clocks: list[ClocksRecord], lower_ms: int) -> Passed | None:
    """What passed on other clocks since a reading at which the blocks were idle."""
    if not clocks:
        return None
    now = clocks[-1]
    place = bisect_right(clocks, now.cpu_ms - lower_ms, key=lambda one: one.cpu_ms)
    then = clocks[min(place, len(clocks) - 1)]
    return Passed(now.wall_ms - then.wall_ms, now.allocations - then.allocations)


def _group(
    record: IdleRecord, pid: int, passed: Passed | None, touch: int
) -> HeapGroup:
    is_part = bool(record.flags & Idle.PART)
    idle = Idleness(
        blocks=Counter({record.lower_ms: record.blocks} if record.blocks else {}),
        part_bytes=record.bytes if is_part else 0,
        drag_byte_ms=record.drag_byte_ms,
        shortest_ms=record.lower_ms,
        longest_ms=record.longest_ms,
        passed=passed,
        last_touches=Counter({touch: record.bytes} if touch else {}),
    )
    return HeapGroup(blocks=record.blocks, bytes=record.bytes, pids={pid}, idle=idle)
