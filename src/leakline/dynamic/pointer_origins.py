"""Where a pointer in a register comes from: an argument, or the address of a variable.

A function that stores a block behind one of its arguments hands it to whoever owns what
the argument points to. With the origin of that argument at the call, and so on outwards,
the frame is found that holds the block.
"""

from collections.abc import Callable
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
# Copies and additions that are looked at before giving up, and instructions that are
# passed on the way from one of them to the next.
_MOST_ASKED = 64
_MOST_PASSED = 5000


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


# What is found where nothing is known, and the instructions that were asked for one
# answer: each is asked once, or loops would be followed for ever.
_NONE: frozenset[Origin] = frozenset()
_Asked = set[int]


def stored_places(code: MachineCode, store: int) -> frozenset[Origin]:
    """The places that the store at an address may write to, as far as known."""
    return _operand(code, code.instructions[store], set())


def argument_at_call(code: MachineCode, site: int, given: Origin) -> frozenset[Origin]:
    """A place behind an argument of the call before a site, as the function has it."""
    call = code.ending_at(site)
    if call is None or given.argument is None:
        return _NONE
    register = int(ARGUMENTS[given.argument])
    return _moved(_register(code, call.ip, register, set()), given.offset)


def _operand(
    code: MachineCode, instruction: Instruction, asked: _Asked
) -> frozenset[Origin]:
    """The place that a memory operand means."""
    slot = code.slot_of(instruction)
    if slot is not None:
        return frozenset({Origin(None, slot)})
    base = int(instruction.memory_base)
    none = int(Register.NONE)
    is_plain = base != none and int(instruction.memory_index) == none
    if not is_plain or instruction.is_ip_rel_memory_operand:
        return _NONE
    found = _register(code, instruction.ip, base, asked)
    return _moved(found, _signed(instruction.memory_displacement))


def _register(
    code: MachineCode, address: int, register: int, asked: _Asked
) -> frozenset[Origin]:
    """Where a register may point before the instruction at an address."""
    rule = code.rule_at(address)
    if rule is not None and CFA_REGISTERS.get(register) == rule.register:
        return frozenset({Origin(None, -rule.offset)})
    writers = _writers(code, address, lambda one: _is_written(one, register))
    found = _given(register) if None in writers else _NONE
    return found.union(*(_result(code, one, asked) for one in writers if one))


def _given(register: int) -> frozenset[Origin]:
    """What a register is when a function begins."""
    given = [int(one) for one in ARGUMENTS]
    is_given = register in given
    return frozenset({Origin(given.index(register), 0)}) if is_given else _NONE


def _result(code: MachineCode, writer: Instruction, asked: _Asked) -> frozenset[Origin]:
    """What an instruction leaves in the register that it writes."""
    if writer.ip in asked or len(asked) >= _MOST_ASKED:
        return _NONE
    asked.add(writer.ip)
    match writer.mnemonic:
        case Mnemonic.LEA:
            return _operand(code, writer, asked)
        case Mnemonic.MOV if writer.op1_kind == OpKind.REGISTER:
            return _register(code, writer.ip, int(writer.op1_register), asked)
        case Mnemonic.MOV if writer.op1_kind == OpKind.MEMORY:
            return _kept(code, writer, asked)
        case Mnemonic.ADD if writer.op1_kind not in (OpKind.REGISTER, OpKind.MEMORY):
            found = _register(code, writer.ip, int(writer.op0_register), asked)
            return _moved(found, _signed(writer.immediate(1)))
        case _:
            return _NONE


def _moved(origins: frozenset[Origin], distance: int) -> frozenset[Origin]:
    return frozenset(one.moved(distance) for one in origins)


def _kept(code: MachineCode, load: Instruction, asked: _Asked) -> frozenset[Origin]:
    """What a place in the frame may hold that an instruction loads."""
    slot = code.slot_of(load)
    if slot is None:
        return _NONE
    stores = _writers(code, load.ip, lambda one: _is_stored(code, one, slot))
    return _NONE.union(
        *(
            _register(code, one.ip, int(one.op1_register), asked)
            for one in stores
            if one is not None
            and one.mnemonic == Mnemonic.MOV
            and one.op1_kind == OpKind.REGISTER
        )
    )


def _writers(
    code: MachineCode, address: int, writes: Callable[[Instruction], bool]
) -> list[Instruction | None]:
    """The last instructions that write something, on all ways to an address.

    None among them stands for what it was when the function began. If the ways are too
    long, there are none.
    """
    found: list[Instruction | None] = []
    pending = [address]
    seen = set(pending)
    while pending:
        at = pending.pop()
        if len(seen) > _MOST_PASSED:
            return []
        if at == code.start:
            found.append(None)
        for before in code.predecessors(at):
            if before.ip in seen:
                continue
            seen.add(before.ip)
            if writes(before):
                found.append(before)
            else:
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
