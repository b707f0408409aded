"""What was seen of single blocks that were followed: the points passed until each was lost."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from leakline.dynamic.merge import KNOWN_CAUSES
from leakline.dynamic.process_log import ProcessLog, chosen_snapshot
from leakline.dynamic.stack_table import Call, ProcessStacks, StackTable
from leakline.recording._format import Cause, Holder, Node, Refined
from leakline.symbols.resolve import Address

# Blocks whose loss one second run traces.
MOST_TARGETS = 256

# The frames of a call stack, outermost first: return addresses, or with
# `Node.EXACT_PC` instructions, and flags.
Frames = tuple[tuple[Address, int], ...]


class TraceKey(NamedTuple):
    """Whose trace it is; stacks are numbers of the stack table.

    Attributes:
        stack: The allocation.
        loss: The loss in memory behind which the block was followed, 0 if it was
            followed from its birth on.
    """

    stack: int
    loss: int


@dataclass(frozen=True, slots=True)
class Step:
    """A point that was passed, and what referred to the block there.

    Attributes:
        place: The instruction that came next.
        register: DWARF number of the holding register, or None.
        slot_from_sp: The holding slot's address minus the stack pointer, or None.
        rbp_from_sp: rbp minus the stack pointer.
    """

    place: Address
    register: int | None
    slot_from_sp: int | None
    rbp_from_sp: int


@dataclass(frozen=True, slots=True)
class Trace:
    """One block that was followed.

    Attributes:
        outcome: What became of it.
        in_second_run: Else it was one of several in the run itself.
        loss: Number of the call stack at the loss, 0 if it was not lost.
        steps: The last points; at the last one of a lost block nothing held it.
        is_whole: No earlier steps were left out.
    """

    outcome: Refined
    loss: int
    in_second_run: bool
    steps: tuple[Step, ...]
    is_whole: bool

    @property
    def is_lost_at_once(self) -> bool:
        """Whether nothing held the block any more at the first point."""
        return self.outcome is Refined.LOST and self.is_whole and len(self.steps) == 1


@dataclass(frozen=True, slots=True)
class Refinable:
    """A block that a second run can find again.

    Attributes:
        frames: Of its allocation stack.
        ordinal: Its number among the allocations of that stack.
        bytes: What was lost in that way.
        cause: How a reference in memory was lost, or that none was.
        loss: The call stack of that loss.
    """

    frames: Frames
    ordinal: int
    bytes: int
    cause: Cause = Cause.NOT_IN_MEMORY
    loss: Frames = ()


def is_second_run(log: ProcessLog) -> bool:
    """Whether a process ran only to trace losses."""
    return bool(log.options.get("watch"))


def traces(log: ProcessLog, stacks: ProcessStacks) -> dict[TraceKey, Trace]:
    """The traces that a process left."""
    steps: dict[int, list[Step]] = {}
    for record in log.refined_steps:
        index = stacks.table.calls[stacks.number(record.node)].address
        is_slot = record.holder == Holder.SLOT
        in_register = record.holder == Holder.REGISTER
        step = Step(
            stacks.table.addresses[index],
            record.holder_register if in_register else None,
            record.slot_from_sp if is_slot else None,
            record.rbp_from_sp,
        )
        steps.setdefault(record.target, []).append(step)
    known = {int(one): one for one in Refined}
    return {
        TraceKey(stacks.number(record.stack), stacks.number(record.trigger)): Trace(
            known.get(record.outcome, Refined.NOT_MET),
            stacks.number(record.loss) if record.loss else 0,
            is_second_run(log),
            tuple(steps.get(record.target, ())),
            record.steps == len(steps.get(record.target, ())),
        )
        for record in log.refined
    }


def refinables(log: ProcessLog) -> Iterator[Refinable]:
    """The blocks of a process that a second run may trace."""
    snapshot = chosen_snapshot(log)
    if snapshot is None:
        return
    stacks = ProcessStacks(log, StackTable())
    for group, record in snapshot.refinable:
        frames = _frames(stacks, record.stack)
        loss = _frames(stacks, group.loss)
        cause = KNOWN_CAUSES.get(group.cause, Cause.UNKNOWN)
        is_known = bool(loss) or cause is Cause.NOT_IN_MEMORY
        if record.ordinal and frames and is_known and not _has_exact(frames):
            yield Refinable(frames, record.ordinal, group.bytes, cause, loss)


def _frames(stacks: ProcessStacks, node: int) -> Frames:
    """A whole call stack; none where frames were left out."""
    calls = stacks.table.path(stacks.number(node))
    if any(call.flags & Node.FOLDED or not call.address for call in calls):
        return ()
    return tuple((_place(stacks.table, call), call.flags) for call in reversed(calls))


def _has_exact(frames: Frames) -> bool:
    return any(flags & Node.EXACT_PC for _, flags in frames)


def most_refinable(found: Iterable[Refinable]) -> list[Refinable]:
    """As many blocks as one run traces, the largest first; one of each way.

    Several processes may have lost blocks in the same way.
    """
    chosen: dict[tuple[Frames, Frames], Refinable] = {}
    for one in sorted(found, key=lambda one: -one.bytes):
        chosen.setdefault((one.frames, one.loss), one)
    return list(chosen.values())[:MOST_TARGETS]


def join_traces(
    first: Mapping[TraceKey, Trace], more: Mapping[TraceKey, Trace]
) -> dict[TraceKey, Trace]:
    """The traces of several processes: one that shows a loss comes before others."""
    joined = dict(first)
    for stack, trace in more.items():
        known = joined.get(stack)
        if known is None or _worth(trace) > _worth(known):
            joined[stack] = trace
    return joined


def _worth(trace: Trace) -> int:
    """How much a trace tells."""
    return {Refined.LOST: 2, Refined.NOT_MET: 0}.get(trace.outcome, 1)


def _place(table: StackTable, call: Call) -> Address:
    """The address that the runtime has of a call: behind it, or exactly there."""
    address = table.addresses[call.address]
    behind = 0 if call.flags & Node.EXACT_PC else 1
    return Address(address.module, address.offset + behind)
