"""Adds up the groups of all processes: one *heap group* per kind, stack and leader."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from leakline.dynamic.idleness import Idleness
from leakline.dynamic.process_log import ProcessLog, Snapshot
from leakline.dynamic.stack_table import ProcessStacks
from leakline.dynamic.touches import Touches
from leakline.model.finding import Kind
from leakline.recording._format import Cause as LossCause
from leakline.recording._format import Group, GroupRecord, Reference, ReferenceRecord

KINDS = {
    Group.LOST: Kind.LOST,
    Group.INDIRECT: Kind.INDIRECT,
    Group.REACHABLE: Kind.REACHABLE,
}

KNOWN_CAUSES = {int(cause): cause for cause in LossCause}


class GroupKey(NamedTuple):
    """What makes blocks one finding; stacks are numbers of the stack table."""

    kind: Kind
    stack: int
    leader: int
    loss: int = 0
    cause: LossCause = LossCause.UNKNOWN
    loss_offset: int = 0


class SlotKey(NamedTuple):
    """What makes slots that refer to blocks alike; numbers of the stack table.

    Attributes:
        holder: The allocation of the block that they lie in, or with `is_variable` a
            stack whose one address is that of the slot itself.
        offset: Of the slot in the block.
        birth: The store that created the reference, 0 if not known.
    """

    is_variable: bool
    holder: int
    offset: int
    birth: int


@dataclass(slots=True)
class HeapGroup:
    """Blocks of one kind from one place, over all processes.

    Attributes:
        birth: Stack of the store that created the last reference to one of the blocks.
        has_births: Births were noted, so that a missing one was not seen.
        slots: How many slots of each kind refer to the blocks, when asked for.
    """

    blocks: int = 0
    bytes: int = 0
    indirect_blocks: int = 0
    indirect_bytes: int = 0
    birth: int = 0
    has_births: bool = False
    pids: set[int] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    slots: dict[SlotKey, int] = field(default_factory=dict)
    idle: Idleness | None = None
    touches: Touches | None = None

    def add(self, other: "HeapGroup") -> None:
        """Counts another group in."""
        self.blocks += other.blocks
        self.bytes += other.bytes
        self.indirect_blocks += other.indirect_blocks
        self.indirect_bytes += other.indirect_bytes
        self.birth = self.birth or other.birth
        self.has_births |= other.has_births
        self.pids |= other.pids
        for key, count in other.slots.items():
            self.slots[key] = self.slots.get(key, 0) + count
        self.notes += [note for note in other.notes if note not in self.notes]
        if other.idle is not None:
            self.idle = self.idle or Idleness()
            self.idle.add(other.idle)
        if other.touches is not None:
            self.touches = self.touches or Touches()
            self.touches.add(other.touches)


Groups = dict[GroupKey, HeapGroup]


def add_snapshot(
    groups: Groups, log: ProcessLog, snapshot: Snapshot, stacks: ProcessStacks
) -> None:
    """Adds one process's groups; blocks the program wants ignored are left out."""
    pid = log.key.pid
    for record in snapshot.groups:
        kind = KINDS.get(record.kind)  # type: ignore[call-overload]  # ints compare equal
        if kind is not None:
            group = _add(groups, kind, record, stacks, pid)
            birth = snapshot.births.get(record.address, 0)
            if kind is Kind.LOST:
                group.has_births = log.options.get("births") == "1"
                group.birth = group.birth or stacks.number(birth)
    for reference in snapshot.references:
        _add_reference(groups, reference, stacks)


def _add_reference(
    groups: Groups, record: ReferenceRecord, stacks: ProcessStacks
) -> None:
    group = groups.get(GroupKey(Kind.REACHABLE, stacks.number(record.stack), 0))
    if group is not None:
        key = SlotKey(
            record.kind == Reference.VARIABLE,
            stacks.number(record.holder),
            record.offset,
            stacks.number(record.birth),
        )
        group.slots[key] = group.slots.get(key, 0) + record.slots


def _add(
    groups: Groups, kind: Kind, record: GroupRecord, stacks: ProcessStacks, pid: int
) -> HeapGroup:
    leader = stacks.number(record.leader) if record.leader else 0
    loss = stacks.number(record.loss) if record.loss else 0
    cause = KNOWN_CAUSES.get(record.cause, LossCause.UNKNOWN)
    stack = stacks.number(record.stack)
    key = GroupKey(kind, stack, leader, loss, cause, record.loss_offset)
    group = group_at(groups, key)
    group.blocks += record.blocks
    group.bytes += record.bytes
    group.indirect_blocks += record.indirect_blocks
    group.indirect_bytes += record.indirect_bytes
    group.pids.add(pid)
    return group


def group_at(groups: Groups, key: GroupKey) -> HeapGroup:
    """The group of a key, made when it is new."""
    group = groups.get(key)
    if group is None:
        group = groups[key] = HeapGroup()
    return group


def take_reachable(groups: Groups, stack: int, moved: HeapGroup) -> None:
    """Takes blocks out of the reachable ones that they were counted among.

    A run that nobody asks for reachable blocks counts them all under the empty stack.
    Some of the moved blocks may have been counted as lost: no more is taken than is
    there. What refers to the blocks goes with the last of them.
    """
    keys = [GroupKey(Kind.REACHABLE, number, 0) for number in (stack, 0)]
    known = [key for key in keys if key in groups]
    enough = [key for key in known if groups[key].blocks >= moved.blocks]
    for key in (enough or known)[:1]:
        group = groups[key]
        group.blocks -= min(moved.blocks, group.blocks)
        group.bytes -= min(moved.bytes, group.bytes)
        if not group.blocks:
            moved.slots = group.slots
            del groups[key]


def used_stacks(groups: Groups, keys: Iterable[GroupKey]) -> set[int]:
    """Numbers of all stacks that some groups mention."""
    used: set[int] = set()
    for key in keys:
        used.update((key.stack, key.leader, key.loss))
        used.add(groups[key].birth)
        for slot in groups[key].slots:
            used.add(slot.birth)
            used.add(0 if slot.is_variable else slot.holder)
        touches, idle = groups[key].touches, groups[key].idle
        if touches is not None:
            used |= touches.stacks
        if idle is not None:
            used.add(idle.main_touch)
    return used - {0}
