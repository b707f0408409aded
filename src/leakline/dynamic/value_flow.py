"""Follows a value through the code of one function, from where a call returned it.

The question is what can become of a block that nobody freed and that no memory but the
stack ever held: which registers and places of the frame carry it, whether the function
returns it, and whether a path ends without it. Paths that the block cannot have taken
are cut: where the pointer is null, where it is freed, where it is stored elsewhere.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
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

from leakline.symbols.call_targets import CallTargets
from leakline.symbols.machine_code import MachineCode
from leakline.symbols.unwind_tables import RSP

_information = InstructionInfoFactory()

_CARRYING = {
    Mnemonic.MOV,
    Mnemonic.LEA,
    Mnemonic.ADD,
    Mnemonic.SUB,
    Mnemonic.AND,
    Mnemonic.INC,
    Mnemonic.DEC,
    Mnemonic.MOVQ,
    Mnemonic.MOVAPS,
    Mnemonic.MOVUPS,
    Mnemonic.MOVDQA,
    Mnemonic.MOVDQU,
    Mnemonic.MOVHPS,
    Mnemonic.MOVLPS,
    Mnemonic.PUNPCKLQDQ,
    Mnemonic.PINSRQ,
    Mnemonic.VMOVDQA,
    Mnemonic.VMOVDQU,
    Mnemonic.VMOVQ,
    Mnemonic.VPINSRQ,
    Mnemonic.VPUNPCKLQDQ,
    Mnemonic.XCHG,
}
# Those that add to what the target already was instead of replacing it.
_KEEPING = _CARRYING - {
    Mnemonic.MOV,
    Mnemonic.LEA,
    Mnemonic.MOVQ,
    Mnemonic.MOVAPS,
    Mnemonic.MOVUPS,
    Mnemonic.MOVDQA,
    Mnemonic.MOVDQU,
    Mnemonic.VMOVDQA,
    Mnemonic.VMOVDQU,
    Mnemonic.VMOVQ,
}
_CONDITIONAL_MOVES = {
    Mnemonic.CMOVA,
    Mnemonic.CMOVAE,
    Mnemonic.CMOVB,
    Mnemonic.CMOVBE,
    Mnemonic.CMOVE,
    Mnemonic.CMOVG,
    Mnemonic.CMOVGE,
    Mnemonic.CMOVL,
    Mnemonic.CMOVLE,
    Mnemonic.CMOVNE,
    Mnemonic.CMOVNS,
    Mnemonic.CMOVS,
}
_WRITES = {OpAccess.WRITE, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE}
ARGUMENTS = (
    Register.RDI,
    Register.RSI,
    Register.RDX,
    Register.RCX,
    Register.R8,
    Register.R9,
)
KEPT_BY_CALLS = {
    Register.RBX,
    Register.RBP,
    Register.R12,
    Register.R13,
    Register.R14,
    Register.R15,
}
_POINTER_BYTES = 8
_RELEASES = frozenset(
    {"free", "cfree", "realloc", "reallocarray", "fclose", "closedir", "freeaddrinfo"}
)
_RETURNS_ARGUMENT = frozenset(
    {"memcpy", "memmove", "memset", "strcpy", "strncpy", "strcat", "strncat"}
)
_NEVER_RETURNS = frozenset(
    {"exit", "_exit", "_Exit", "abort", "__assert_fail", "__stack_chk_fail"}
)
_MOST_STEPS = 200_000


class Carrier(NamedTuple):
    """A register (of iced) or a place in the frame that carries the value.

    Attributes:
        address: The instruction before which it carries it.
        register: None for a place in the frame.
        cfa_offset: Of a place in the frame.
    """

    address: int
    register: int | None
    cfa_offset: int = 0


@dataclass(slots=True)
class ValueFlow:
    """What can become of a value in a function.

    Attributes:
        carriers: At each instruction that it reaches, in the order they were met.
        moved: An instruction copied it to another register or place.
        passed: Addresses of calls that get it as an argument.
        stored: Addresses of stores that put it into memory other than the frame.
        releases: Addresses of calls that free it.
        returned: A path ends by returning it.
        dropped: Addresses of the ends of paths that neither return nor release it.
        is_complete: Nothing hid a path.
    """

    carriers: list[Carrier] = field(default_factory=list)
    moved: bool = False
    passed: list[int] = field(default_factory=list)
    stored: list[int] = field(default_factory=list)
    releases: list[int] = field(default_factory=list)
    returned: bool = False
    dropped: list[int] = field(default_factory=list)
    is_complete: bool = True

    @property
    def is_ignored(self) -> bool:
        """Nothing was ever done with the value."""
        used = self.moved or self.passed or self.stored or self.releases
        return self.is_complete and not used and not self.returned


class _State(NamedTuple):
    registers: frozenset[int]
    slots: frozenset[int]  # offsets from the CFA

    def joined(self, other: "_State") -> "_State":
        return _State(self.registers | other.registers, self.slots | other.slots)


def follow(
    code: MachineCode,
    targets: CallTargets,
    start: int,
    *,
    slots: frozenset[int] = frozenset(),
) -> ValueFlow:
    """Follows what rax holds at an address, or what some places of the frame hold.

    Args:
        code: The function.
        targets: Names of what it calls.
        start: Where to begin; the address a call returned to.
        slots: Offsets from the CFA to begin with, in place of rax.
    """
    registers = frozenset() if slots else frozenset({int(Register.RAX)})
    return _Follower(code, targets).follow(start, _State(registers, slots))


class _Follower:
    def __init__(self, code: MachineCode, targets: CallTargets) -> None:
        self._code = code
        self._targets = targets
        self._flow = ValueFlow()
        # What returns the value is kept apart from what does not: ends share code.
        self._states: dict[tuple[int, bool], _State] = {}
        self._notes: tuple[dict[int, None], ...] = ({}, {}, {}, {})

    def follow(self, start: int, state: _State) -> ValueFlow:
        pending = [(start, state)]
        steps = 0
        while pending:
            address, incoming = pending.pop()
            key = (address, Register.RAX in incoming.registers)
            known = self._states.get(key)
            merged = incoming if known is None else known.joined(incoming)
            if merged == known:
                continue
            self._states[key] = merged
            pending += self._step(self._code.instructions.get(address), merged)
            steps += 1
            if steps > _MOST_STEPS:
                self._flow.is_complete = False
                break
        flow = self._flow
        passed, stored, releases, dropped = (list(notes) for notes in self._notes)
        flow.carriers = list(self._carriers())
        flow.passed, flow.stored, flow.releases = passed, stored, releases
        flow.dropped = dropped
        return flow

    def _carriers(self) -> Iterator[Carrier]:
        for (address, _), state in self._states.items():
            for slot in sorted(state.slots):
                yield Carrier(address, None, slot)
            for register in sorted(state.registers):
                yield Carrier(address, register)

    def _step(
        self, instruction: Instruction | None, state: _State
    ) -> list[tuple[int, _State]]:
        """The states behind an instruction."""
        if instruction is None:
            self._flow.is_complete = False
            return []
        flow = instruction.flow_control
        if flow in (FlowControl.CALL, FlowControl.INDIRECT_CALL):
            return self._call(instruction, state)
        if flow == FlowControl.CONDITIONAL_BRANCH:
            return self._branch(instruction, state)
        if self._is_end(instruction, state):
            return []
        if instruction.mnemonic in _CONDITIONAL_MOVES:
            after = self._conditional_move(instruction, state)
        else:
            after = self._transfer(instruction, state)
        following = self._code.successors(instruction)
        return [(address, one) for address in following for one in after]

    def _conditional_move(
        self, instruction: Instruction, state: _State
    ) -> list[_State]:
        """The states of both outcomes."""
        target = _full(instruction.op0_register)
        if self._reads(instruction, state):
            self._flow.moved = True
            moved = state.registers | {target}
        else:
            moved = state.registers - {target}
        return [state, state._replace(registers=moved)]

    def _is_end(self, instruction: Instruction, state: _State) -> bool:
        """Whether a path ends here, and if so, how."""
        flow = instruction.flow_control
        if flow == FlowControl.RETURN:
            self._end(instruction, state.registers)
        elif flow == FlowControl.INDIRECT_BRANCH:
            self._flow.is_complete = False
            self._tail_call(instruction, state)
        elif instruction.ip in self._code.tail_calls:
            self._tail_call(instruction, state)
        else:
            return False
        return True

    def _end(self, instruction: Instruction, carrying: frozenset[int]) -> None:
        if Register.RAX in carrying:
            self._flow.returned = True
        else:
            self._notes[3][instruction.ip] = None

    def _tail_call(self, instruction: Instruction, state: _State) -> None:
        name = self._targets.name(instruction)
        if self._is_released(instruction, name, state) or name in _NEVER_RETURNS:
            return
        self._pass(instruction, state)
        # A function that ends in a call nobody can name may return its argument.
        may_return = not name or name in _RETURNS_ARGUMENT
        returns = may_return and Register.RDI in state.registers
        carrying = frozenset({int(Register.RAX)}) if returns else frozenset()
        self._end(instruction, carrying)

    def _call(
        self, instruction: Instruction, state: _State
    ) -> list[tuple[int, _State]]:
        name = self._targets.name(instruction)
        if self._is_released(instruction, name, state) or name in _NEVER_RETURNS:
            return []
        self._pass(instruction, state)
        kept = {one for one in state.registers if one in KEPT_BY_CALLS}
        if name in _RETURNS_ARGUMENT and Register.RDI in state.registers:
            kept.add(int(Register.RAX))
        after = _State(frozenset(kept), state.slots)
        return [(one, after) for one in self._code.successors(instruction)]

    def _is_released(self, instruction: Instruction, name: str, state: _State) -> bool:
        is_release = name in _RELEASES or name.startswith(("_ZdlPv", "_ZdaPv"))
        if is_release and Register.RDI in state.registers:
            self._notes[2][instruction.ip] = None
            return True
        return False

    def _pass(self, instruction: Instruction, state: _State) -> None:
        if any(int(one) in state.registers for one in ARGUMENTS):
            self._notes[0][instruction.ip] = None

    def _branch(
        self, instruction: Instruction, state: _State
    ) -> list[tuple[int, _State]]:
        """Leaves out the edge on which the pointer is null."""
        if instruction.ip in self._code.tail_calls:
            self._tail_call(instruction, state)
        null_edge = None
        if instruction.mnemonic in (Mnemonic.JE, Mnemonic.JNE) and self._tests_value(
            instruction, state
        ):
            is_equal = instruction.mnemonic == Mnemonic.JE
            null_edge = (
                instruction.near_branch_target if is_equal else instruction.next_ip
            )
        following = self._code.successors(instruction)
        return [(one, state) for one in following if one != null_edge]

    def _tests_value(self, branch: Instruction, state: _State) -> bool:
        """Whether the instruction before a branch compares the value with null."""
        test = self._code.ending_at(branch.ip)
        if test is None:
            return False
        if test.mnemonic == Mnemonic.TEST:
            same = test.op0_register == test.op1_register
            return same and int(_full(test.op0_register)) in state.registers
        if test.mnemonic == Mnemonic.OR:
            return self._carried(test.ip, _full(test.op0_register))
        if test.mnemonic != Mnemonic.CMP or not _compares_with_zero(test):
            return False
        if test.op0_kind == OpKind.REGISTER:
            return int(_full(test.op0_register)) in state.registers
        return self._code.slot_of(test) in state.slots

    def _carried(self, address: int, register: int) -> bool:
        """Whether a register carried the value on a way to an address."""
        known = (self._states.get((address, returns)) for returns in (False, True))
        return any(one is not None and register in one.registers for one in known)

    def _transfer(self, instruction: Instruction, state: _State) -> list[_State]:
        """The state behind a plain instruction; none where the path is cut."""
        if instruction.mnemonic in (Mnemonic.PUSH, Mnemonic.POP):
            is_push = instruction.mnemonic == Mnemonic.PUSH
            return [(self._push if is_push else self._pop)(instruction, state)]
        carries = instruction.mnemonic in _CARRYING and self._reads(instruction, state)
        if instruction.op0_kind == OpKind.MEMORY and _writes_memory(instruction):
            return self._store(instruction, state, carries=carries)
        if carries and instruction.op0_kind == OpKind.REGISTER:
            target = _full(instruction.op0_register)
            self._flow.moved = True
            return [state._replace(registers=state.registers | {target})]
        gone = set() if instruction.mnemonic in _KEEPING else _written(instruction)
        return [state._replace(registers=state.registers - gone)]

    def _push(self, instruction: Instruction, state: _State) -> _State:
        rule = self._code.rule_at(instruction.ip)
        is_carried = (
            instruction.op0_kind == OpKind.REGISTER
            and int(_full(instruction.op0_register)) in state.registers
        )
        if rule is None or rule.register != RSP:
            return state
        slot = -rule.offset - _POINTER_BYTES
        if not is_carried:
            return state._replace(slots=state.slots - {slot})
        self._flow.moved = True
        return state._replace(slots=state.slots | {slot})

    def _pop(self, instruction: Instruction, state: _State) -> _State:
        rule = self._code.rule_at(instruction.ip)
        if instruction.op0_kind != OpKind.REGISTER:
            return state
        target = int(_full(instruction.op0_register))
        if rule is not None and rule.register == RSP and -rule.offset in state.slots:
            return state._replace(registers=state.registers | {target})
        return state._replace(registers=state.registers - {target})

    def _store(
        self, instruction: Instruction, state: _State, *, carries: bool
    ) -> list[_State]:
        slot = self._code.slot_of(instruction)
        if not carries:
            gone = {slot} if instruction.mnemonic == Mnemonic.MOV else set()
            return [state._replace(slots=state.slots - gone)]
        if slot is None:
            self._notes[1][instruction.ip] = None
            return []
        self._flow.moved = True
        return [state._replace(slots=state.slots | {slot})]

    def _reads(self, instruction: Instruction, state: _State) -> bool:
        """Whether a source of a carrying instruction is the value."""
        operands = range(instruction.op_count)
        if instruction.mnemonic not in _KEEPING:
            operands = range(1, instruction.op_count)
        for index in operands:
            kind = instruction.op_kind(index)
            if kind == OpKind.REGISTER:
                register = instruction.op_register(index)
                wide = RegisterExt.size(register) >= _POINTER_BYTES
                if wide and int(_full(register)) in state.registers:
                    return True
            elif kind == OpKind.MEMORY:
                if instruction.mnemonic == Mnemonic.LEA:
                    if int(_full(instruction.memory_base)) in state.registers:
                        return True
                elif self._code.slot_of(instruction) in state.slots:
                    return True
        return False


def _full(register: int) -> int:
    return int(RegisterExt.full_register(register))  # type: ignore[arg-type]  # an int


def _compares_with_zero(instruction: Instruction) -> bool:
    kind = instruction.op1_kind
    return (
        kind not in (OpKind.REGISTER, OpKind.MEMORY) and instruction.immediate(1) == 0
    )


def _writes_memory(instruction: Instruction) -> bool:
    return _information.info(instruction).op0_access in _WRITES


def _written(instruction: Instruction) -> set[int]:
    return {
        _full(used.register)
        for used in _information.info(instruction).used_registers()
        if used.access in (OpAccess.WRITE, OpAccess.READ_WRITE)
    }
