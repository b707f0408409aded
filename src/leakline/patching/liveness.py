"""Which registers are read again after each instruction of a function.

A register that nobody will read may still hold an old pointer; it does not count as a
reference. In doubt a register is alive.
"""

from dataclasses import dataclass

from iced_x86 import (
    FlowControl,
    Instruction,
    InstructionInfoFactory,
    OpAccess,
    RegisterExt,
)

from leakline.symbols.dwarf_registers import DWARF_REGISTERS
from leakline.symbols.machine_code import MachineCode

# Bits of a set of registers are DWARF numbers; all vector registers share one.
VECTOR = 1 << 16
ALL = (1 << 17) - 1
RAX, RDX, RCX, RBX, RSI, RDI, RBP, RSP = (1 << number for number in range(8))
R8, R9, R10, R11, R12, R13, R14, R15 = (1 << number for number in range(8, 16))
ARGUMENTS = (RDI, RSI, RDX, RCX, R8, R9)  # a call gets them in this order
KEPT_BY_CALLS = RBX | RBP | RSP | R12 | R13 | R14 | R15
RESULTS = (RAX, RDX)  # and a result of one word is in the first

_READS = {
    OpAccess.READ,
    OpAccess.COND_READ,
    OpAccess.READ_WRITE,
    OpAccess.READ_COND_WRITE,
}
_WRITES = {OpAccess.WRITE, OpAccess.READ_WRITE}
_CALLS = (FlowControl.CALL, FlowControl.INDIRECT_CALL)
_WHOLE_BYTES = 4  # a write of so many bytes clears the rest of a register

_information = InstructionInfoFactory()


@dataclass(frozen=True, slots=True)
class _Effect:
    """What one instruction does with registers."""

    reads: int
    writes: int


def live_before(code: MachineCode, *, returned_words: int) -> dict[int, int]:
    """The registers that are alive before each instruction.

    Args:
        code: A function.
        returned_words: How many words it returns that may hold pointers.
    """
    effects = {
        address: _effect(instruction)
        for address, instruction in code.instructions.items()
    }
    _add_uses_of_ends(code, effects, returned_words=returned_words)
    return _solve(code, effects)


def _effect(instruction: Instruction) -> _Effect:
    reads = writes = 0
    for used in _information.info(instruction).used_registers():
        bit = _bit(int(used.register))
        if used.access in _READS:
            reads |= bit
        if used.access in _WRITES and bit != VECTOR:
            size = RegisterExt.size(used.register)
            writes |= bit if size >= _WHOLE_BYTES else 0
    return _Effect(reads, writes)


def _bit(register: int) -> int:
    if RegisterExt.is_vector_register(register):  # type: ignore[arg-type]  # an int
        return VECTOR
    full = int(RegisterExt.full_register(register))  # type: ignore[arg-type]  # an int
    number = DWARF_REGISTERS.get(full)
    return 1 << number if number is not None else 0


def _add_uses_of_ends(
    code: MachineCode, effects: dict[int, _Effect], *, returned_words: int
) -> None:
    """Calls read arguments that may have been set, returns what callers rely on."""
    given = _given(code, effects)
    results = sum(RESULTS[:returned_words])
    for address, instruction in code.instructions.items():
        flow = instruction.flow_control
        effect = effects[address]
        if flow in _CALLS:
            reads = effect.reads | _passed(given[address]) | VECTOR & given[address]
            effects[address] = _Effect(reads, effect.writes | ALL & ~KEPT_BY_CALLS)
        elif flow == FlowControl.RETURN:
            reads = effect.reads | KEPT_BY_CALLS | results
            effects[address] = _Effect(reads, effect.writes)
        elif flow == FlowControl.INDIRECT_BRANCH:
            effects[address] = _Effect(ALL, 0)
        elif address in code.tail_calls:
            reads = effect.reads | _passed(given[address]) | KEPT_BY_CALLS
            effects[address] = _Effect(reads, effect.writes)


def _passed(given: int) -> int:
    """Arguments that a call may have, when only some registers can have been set.

    Whoever passes a third one passes the two before it. So what a call left in RDX
    without being asked does not count as an argument of the next call.
    """
    passed = 0
    for argument in ARGUMENTS:
        if not given & argument:
            break
        passed |= argument
    return passed


def _given(code: MachineCode, effects: dict[int, _Effect]) -> dict[int, int]:
    """Registers that may have been set since the last call or the function's start."""
    at_start = sum(ARGUMENTS) | VECTOR
    given = dict.fromkeys(code.instructions, 0)
    given[code.start] = at_start
    if not code.is_complete:
        given = dict.fromkeys(code.instructions, at_start)
    pending = list(code.instructions)
    while pending:
        address = pending.pop()
        instruction = code.instructions[address]
        if instruction.flow_control in _CALLS:
            behind = sum(RESULTS)
        else:
            behind = given[address] | effects[address].writes
            behind |= effects[address].reads & VECTOR
        for following in code.successors(instruction):
            if behind & ~given[following]:
                given[following] |= behind
                pending.append(following)
    return given


def _solve(code: MachineCode, effects: dict[int, _Effect]) -> dict[int, int]:
    live = dict.fromkeys(code.instructions, 0)
    order = sorted(code.instructions, reverse=True)
    changed = True
    while changed:
        changed = False
        for address in order:
            behind = 0
            for following in code.successors(code.instructions[address]):
                behind |= live[following]
            effect = effects[address]
            before = effect.reads | behind & ~effect.writes
            if before != live[address]:
                live[address] = before
                changed = True
    return live
