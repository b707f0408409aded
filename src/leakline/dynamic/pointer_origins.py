"""Where a pointer in a register comes from: an argument, or the address of a variable.

A function that stores a block behind one of its arguments hands it to whoever owns what
the argument points to. With the origin of that argument at the call, and so on outwards,
the frame is found that holds the block.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from iced_x86 import (
    FlowControl,
    Instruction,
    InstructionInfoFactory,
    Mnemonic,
    OpAccess,
    OpKind,
    Register,
    RegisterExt,
)

from leakline.dynamic.value_flow import ARGUMENTS, KEPT_BY_CALLS
from leakline.symbols.machine_code import CFA_REGISTERS, MachineCode

_information = InstructionInfoFactory()
_CALLS = (FlowControl.CALL, FlowControl.INDIRECT_CALL)
_WRITES = (OpAccess.WRITE, OpAccess.READ_WRITE, OpAccess.COND_WRITE)
# Copies and additions that are followed before giving up.
_DEEPEST = 8


class Origin(NamedTuple):
    """A place in memory, known by what a function was given or has in its frame.

    Attributes:
        argument: Which argument points there, from 0 on; None for a place in the frame.
        offset: From where the argument points, or from the CFA.
    """

    argument: int | None
    offset: int

    @property
    def is_behind(self) -> bool:
        """Whether an argument leads there."""
        return self.argument is not None

    def moved(self, distance: int) -> "Origin":
        """The place at a distance behind it."""
        return self._replace(offset=self.offset + distance)


def stored_place(code: MachineCode, store: int) -> Origin | None:
    """The place that the store at an address writes to."""
    return _operand(code, code.instructions[store], 0)


def argument_at_call(code: MachineCode, site: int, given: Origin) -> Origin | None:
    """Where the argument points that leads to a place, in the call before a site."""
    call = code.ending_at(site)
    if call is None or given.argument is None:
        return None
    return _register(code, call.ip, int(ARGUMENTS[given.argument]), 0)


def _operand(code: MachineCode, instruction: Instruction, depth: int) -> Origin | None:
    """The place that a memory operand means."""
    slot = code.slot_of(instruction)
    if slot is not None:
        return Origin(None, slot)
    base = int(instruction.memory_base)
    none = int(Register.NONE)
    is_plain = base != none and int(instruction.memory_index) == none
    if not is_plain or instruction.is_ip_rel_memory_operand:
        return None
    found = _register(code, instruction.ip, base, depth)
    if found is None:
        return None
    return found.moved(_signed(instruction.memory_displacement))


def _register(
    code: MachineCode, address: int, register: int, depth: int
) -> Origin | None:
    """Where a register points before the instruction at an address."""
    if depth > _DEEPEST:
        return None
    rule = code.rule_at(address)
    if rule is not None and CFA_REGISTERS.get(register) == rule.register:
        return Origin(None, -rule.offset)
    writers = _writers(code, address, lambda one: _is_written(one, register))
    return _same(
        _given(register) if one is None else _result(code, one, depth)
        for one in writers
    )


def _same(origins: Iterable[Origin | None]) -> Origin | None:
    """What all of some origins are; None if they differ or one is not known."""
    found = set(origins)
    return found.pop() if len(found) == 1 else None


def _given(register: int) -> Origin | None:
    """What a register is when a function begins."""
    given = [int(one) for one in ARGUMENTS]
    return Origin(given.index(register), 0) if register in given else None


def _result(code: MachineCode, writer: Instruction, depth: int) -> Origin | None:
    """What an instruction leaves in the register that it writes."""
    match writer.mnemonic:
        case Mnemonic.LEA:
            return _operand(code, writer, depth + 1)
        case Mnemonic.MOV if writer.op1_kind == OpKind.REGISTER:
            source = int(writer.op1_register)
            return _register(code, writer.ip, source, depth + 1)
        case Mnemonic.MOV if writer.op1_kind == OpKind.MEMORY:
            return _kept(code, writer, depth)
        case Mnemonic.ADD if writer.op1_kind not in (OpKind.REGISTER, OpKind.MEMORY):
            target = int(writer.op0_register)
            found = _register(code, writer.ip, target, depth + 1)
            if found is None:
                return None
            return found.moved(_signed(writer.immediate(1)))
        case _:
            return None


def _kept(code: MachineCode, load: Instruction, depth: int) -> Origin | None:
    """What a place in the frame holds that an instruction loads."""
    slot = code.slot_of(load)
    if slot is None:
        return None
    stores = _writers(code, load.ip, lambda one: _is_stored(code, one, slot))
    return _same(
        _register(code, one.ip, int(one.op1_register), depth + 1)
        if one.mnemonic == Mnemonic.MOV and one.op1_kind == OpKind.REGISTER
        else None
        for one in stores
        if one is not None
    )


def _writers(
    code: MachineCode, address: int, writes: Callable[[Instruction], bool]
) -> set[Instruction | None]:
    """The last instructions that write something, on all ways to an address.

    None among them stands for what it was when the function began.
    """
    found: set[Instruction | None] = set()
    pending = [address]
    seen = set(pending)
    while pending:
        at = pending.pop()
        if at == code.start:
            found.add(None)
        for before in code.predecessors(at):
            if writes(before):
                found.add(before)
            elif before.ip not in seen:
                seen.add(before.ip)
                pending.append(before.ip)
    return found


def _is_stored(code: MachineCode, instruction: Instruction, slot: int) -> bool:
    return (
        instruction.op_count > 0
        and instruction.op0_kind == OpKind.MEMORY
        and code.slot_of(instruction) == slot
        and _information.info(instruction).op0_access in _WRITES
    )


def _is_written(instruction: Instruction, register: int) -> bool:
    """Whether an instruction changes a register, or a call may."""
    if instruction.flow_control in _CALLS:
        return register not in KEPT_BY_CALLS
    return any(
        int(RegisterExt.full_register(used.register)) == register
        for used in _information.info(instruction).used_registers()
        if used.access in _WRITES
    )


def _signed(number: int) -> int:
    return number - (1 << 64) if number >= 1 << 63 else number
