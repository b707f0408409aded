"""What was seen of single blocks that were followed: the points passed until each was lost."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from leakline.dynamic.process_log import ProcessLog, chosen_snapshot
from leakline.dynamic.stack_table import ProcessStacks, StackTable
from leakline.recording._format import Holder, Node, Refined
from leakline.symbols.resolve import Address

# Blocks whose loss one second run traces.
MOST_TARGETS = 256


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


@dataclass(frozen=True, slots=True)
class Refinable:
    """A block that a second run can find again.

    Attributes:
        frames: Of its allocation stack, outermost first.
        ordinal: Its number among the allocations of that stack.
        bytes: What was lost of that stack.
    """

    frames: tuple[tuple[Address, int], ...]
    ordinal: int
    bytes: int


def is_second_run(log: ProcessLog) -> bool:
    """Whether a process ran only to trace losses."""
    return bool(log.options.get("watch"))


def traces(log: ProcessLog, stacks: ProcessStacks) -> dict[int, Trace]:
    """The traces that a process left, by the number of the allocation stack."""
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
        stacks.number(record.stack): Trace(
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
    sizes: dict[int, int] = {}
    for group in snapshot.groups:
        sizes[group.stack] = sizes.get(group.stack, 0) + group.bytes
    for record in snapshot.refinable:
        calls = stacks.table.path(stacks.number(record.stack))
        if (
            record.ordinal
            and calls
            and not any(call.flags & (Node.FOLDED | Node.EXACT_PC) for call in calls)
        ):
            frames = tuple(
                (_return_address(stacks.table.addresses[call.address]), call.flags)
                for call in reversed(calls)
            )
            yield Refinable(frames, record.ordinal, sizes.get(record.stack, 0))


def most_refinable(found: Iterable[Refinable]) -> list[Refinable]:
    """As many blocks as one run traces, the largest first; one of each stack.

    Several processes may have lost blocks of the same stack.
    """
    chosen: dict[tuple[tuple[Address, int], ...], Refinable] = {}
    for one in sorted(found, key=lambda one: -one.bytes):
        chosen.setdefault(one.frames, one)
    return list(chosen.values())[:MOST_TARGETS]


def join_traces(
    first: Mapping[int, Trace], more: Mapping[int, Trace]
) -> dict[int, Trace]:
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


def _return_address(address: Address) -> Address:
    return Address(address.module, address.offset + 1)
