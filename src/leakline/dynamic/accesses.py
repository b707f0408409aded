"""Lens `accesses`: which blocks were not used for long, and where they were last used."""

from collections.abc import Iterable, Iterator

from leakline.dynamic.merge import (
    KINDS,
    GroupKey,
    Groups,
    HeapGroup,
    group_at,
    take_reachable,
)
from leakline.dynamic.process_log import ProcessLog, Snapshot, chosen_snapshot
from leakline.dynamic.stack_table import ProcessStacks
from leakline.dynamic.staleness import Predicate, Test
from leakline.dynamic.touches import Touches
from leakline.model.finding import Kind
from leakline.recording._format import SamplingRecord, TouchedRecord

_NS_PER_MS = 1_000_000
_UNCONFIRMED = (
    "no use of {:,} more blocks of this allocation was seen, but they share pages with "
    "blocks in use, so that lens pages cannot confirm it"
)


def add_touched(
    groups: Groups,
    log: ProcessLog,
    snapshot: Snapshot,
    stacks: ProcessStacks,
    predicate: Predicate,
) -> None:
    """Adds what is known of the last accesses of one process's blocks.

    Lost blocks get it as evidence; of the reachable ones, the stale become groups of
    their own, unless lens `pages` has found stale ones of the same allocation already.
    """
    confirmed = {key.stack for key, group in groups.items() if group.idle is not None}
    stale = Kind.NEVER_USED if predicate.test is Test.NEVER else Kind.STALE
    siblings = _sibling_frees(snapshot, stacks)
    by_stack: dict[tuple[Kind, int], Touches] = {}
    for record in snapshot.touched:
        kind = KINDS.get(record.kind)  # type: ignore[call-overload]  # ints compare equal
        if kind is None:
            continue
        stack = stacks.number(record.stack)
        touches = _touches_of(record, stacks)
        if (before := snapshot.used_before.get(record.last_access)) is not None:
            nodes = (before.first, before.second, before.third, before.fourth)
            touches.used_before[touches.main_access] = tuple(
                stacks.number(node) for node in nodes if node
            )
        touches.sibling_frees = tuple(siblings.get(record.stack, ()))
        is_stale = kind is Kind.REACHABLE and _is_stale(record, predicate)
        if is_stale and stack not in confirmed:
            found = HeapGroup(record.blocks, record.bytes, pids={log.key.pid})
            found.touches = touches
            take_reachable(groups, stack, found)
            group_at(groups, GroupKey(stale, stack, 0)).add(found)
        elif is_stale or kind is not Kind.REACHABLE:
            by_stack.setdefault((stale if is_stale else kind, stack), Touches()).add(
                touches
            )
    for key, group in groups.items():
        if (known := by_stack.get((key.kind, key.stack))) is not None:
            group.touches = known
            more = known.last_accesses.total() - group.blocks
            if group.idle is not None and more > 0:
                group.notes.append(_UNCONFIRMED.format(more))


def _sibling_frees(snapshot: Snapshot, stacks: ProcessStacks) -> dict[int, list[int]]:
    """The stacks that free blocks of an allocation, by its node."""
    found: dict[int, list[int]] = {}
    for record in snapshot.sibling_frees:
        found.setdefault(record.stack, []).append(stacks.number(record.freed))
    return found


def sampling_sentences(logs: Iterable[ProcessLog]) -> Iterator[str]:
    """What the sampling of accesses could see, and where it was wrong."""
    for log in logs:
        snapshot = chosen_snapshot(log)
        sampling = snapshot.sampling if snapshot is not None else None
        if snapshot is None or sampling is None:
            continue
        yield f"{log.name.capitalize()}: {_resolution(sampling, snapshot)}."
        if sampling.contradictions:
            yield (
                f"Leakline contradicts itself about {sampling.contradictions} blocks of "
                f"{log.name}: lens pages says that they were idle for longer than lens "
                "accesses does. Please report it."
            )


def _resolution(sampling: SamplingRecord, snapshot: Snapshot) -> str:
    cpu_ms = snapshot.begin.cpu_ns / _NS_PER_MS
    if not sampling.windows:
        return (
            f"{cpu_ms / 1000:.1f} s of CPU time were too short to confirm that blocks "
            "are stale"
        )
    length_ms = sampling.window_ns / sampling.windows / _NS_PER_MS
    windows = "1 window" if sampling.windows == 1 else f"{sampling.windows} windows"
    return (
        f"accesses of code that can be armed were watched in {windows} "
        f"of {length_ms:.0f} ms, every {cpu_ms / sampling.windows:.0f} ms of CPU time; "
        "armed code runs slower, so a block used more seldom than every fraction of a "
        "window may be called stale although it is in use"
    )


def _is_stale(record: TouchedRecord, predicate: Predicate) -> bool:
    accessed = record.last_access != 0
    return record.windows > 0 and predicate.holds(
        record.idle_ms, record.active_ms, accessed=accessed
    )


def _touches_of(record: TouchedRecord, stacks: ProcessStacks) -> Touches:
    touches = Touches(drag_byte_ms=record.drag_byte_ms, windows=record.windows)
    last = stacks.number(record.last_access) if record.last_access else 0
    touches.last_accesses[last] = record.blocks
    touches.longest[record.idle_most_ms] = record.blocks
    return touches
