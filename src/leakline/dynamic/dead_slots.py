"""Finds blocks that only dead stack slots hold.

A slot of a live frame may still hold a pointer after the variable it belonged to went
out of scope. A mark of the heap cannot tell and calls the block reachable. Here debug
information decides: if every slot that holds a block belongs to small variables of code
compiled without optimisation, and the frame is outside the scope of all of them, nothing
can use the pointer any more and the block is lost. In any doubt it stays reachable.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

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
from leakline.recording._format import StackHeldRecord
from leakline.symbols.dwarf_unit import DwarfUnits, open_units
from leakline.symbols.resolve import Address, Module, debug_files
from leakline.symbols.variables import FrameVariables, Variable, frame_variables

SLOT_BYTES = 8

# gcc lets variables of this size and more share their place, even without optimisation.
SHARED_FROM_BYTES = 32

# Debug information read for this in one report; a megabyte takes a quarter of a second.
UNITS_LIMIT_BYTES = 24 << 20


@dataclass(slots=True)
class DeadSlots:
    """Judges slots; remembers what it read.

    Attributes:
        unjudged_frames: Frames left out because too much would have to be read.
    """

    unjudged_frames: int = 0
    _units: dict[Module, DwarfUnits | None] = field(default_factory=dict)
    _sizes: dict[tuple[Module, int], int] = field(default_factory=dict)
    _frames: dict[Address, FrameVariables | None] = field(default_factory=dict)

    def why_dead(self, address: Address, cfa_offset: int) -> str:
        """The dead variable that owns a slot, in words; empty unless it is certain."""
        frame = self._frame(address)
        if frame is None:
            return ""
        owners = [one for one in frame.variables if _overlaps(one, cfa_offset)]
        if not owners or not all(map(_is_surely_dead, owners)):
            return ""
        names = " or ".join(
            f"`{name}`" for name in sorted({one.name for one in owners})
        )
        return f"{names} of {frame.function}"

    def _frame(self, address: Address) -> FrameVariables | None:
        if address not in self._frames:
            self._frames[address] = self._read_frame(address)
        return self._frames[address]

    def _read_frame(self, address: Address) -> FrameVariables | None:
        units = self._units_of(address.module)
        unit = units.unit_at(address.offset) if units is not None else None
        if units is None or unit is None:
            return None
        self._sizes[address.module, unit.offset] = unit.cu["unit_length"]
        if sum(self._sizes.values()) > UNITS_LIMIT_BYTES:
            del self._sizes[address.module, unit.offset]
            self.unjudged_frames += 1
            return None
        return frame_variables(units, address.offset)

    def _units_of(self, module: Module) -> DwarfUnits | None:
        if not module.build_id:
            return None  # nothing proves that the file is the one that ran
        if module not in self._units:
            self._units[module] = open_units(debug_files(module))
        return self._units[module]


def _overlaps(variable: Variable, cfa_offset: int) -> bool:
    start = variable.cfa_offset
    return start < cfa_offset + SLOT_BYTES and cfa_offset < start + variable.size_bytes


def _is_surely_dead(variable: Variable) -> bool:
    return not variable.in_scope and variable.size_bytes < SHARED_FROM_BYTES


def move_dead(
    groups: Groups,
    log: ProcessLog,
    snapshot: Snapshot,
    stacks: ProcessStacks,
    judge: DeadSlots,
) -> None:
    """Turns reachable blocks that only dead slots hold into lost ones."""
    sets: dict[int, list[StackHeldRecord]] = {}
    for record in snapshot.held:
        sets.setdefault(record.set, []).append(record)
    for records in sets.values():
        reasons = _why_all_dead(records, stacks, judge)
        if reasons:
            _move(groups, log.key.pid, records, stacks, reasons)


def _why_all_dead(
    records: Iterable[StackHeldRecord], stacks: ProcessStacks, judge: DeadSlots
) -> list[str]:
    """A reason for each slot of the set; empty when one of them may be alive."""
    reasons = []
    for frame, cfa_offset in sorted({(one.frame, one.cfa_offset) for one in records}):
        index = stacks.table.calls[stacks.number(frame)].address
        address = stacks.table.addresses[index]
        reason = judge.why_dead(address, cfa_offset) if index else ""
        if not reason:
            return []
        reasons.append(reason)
    return sorted(set(reasons))


def _move(
    groups: Groups,
    pid: int,
    records: list[StackHeldRecord],
    stacks: ProcessStacks,
    reasons: list[str],
) -> None:
    """Counts each group of blocks once, though every slot of the set has a record."""
    held = {(one.stack, one.direct): one for one in records}
    leaders = [stack for stack, direct in sorted(held) if direct]
    leader = stacks.number(leaders[0]) if leaders else 0
    note = f"Only {', '.join(reasons)} still holds it, and its scope has ended."
    for (stack, direct), record in sorted(held.items()):
        number = stacks.number(stack)
        moved = HeapGroup(record.blocks, record.bytes, pids={pid})
        take_reachable(groups, number, moved)
        if direct or not leader:
            moved.notes.append(note)
            group_at(groups, GroupKey(Kind.LOST, number, 0)).add(moved)
        else:
            group_at(groups, GroupKey(Kind.INDIRECT, number, leader)).add(moved)
            owner = group_at(groups, GroupKey(Kind.LOST, leader, 0))
            owner.indirect_blocks += moved.blocks
            owner.indirect_bytes += moved.bytes
