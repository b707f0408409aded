"""Finds the loads and stores of a range of code that may touch the heap.

What is addressed through the stack pointer, a frame pointer, the instruction pointer, a
constant or thread-local storage cannot, and is no *site*.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from iced_x86 import Decoder as IcedDecoder
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

from leakline.patching.operands import Operand, operand_of
from leakline.symbols.unwind_tables import RBP, Function

_RSP_NUMBER = 4
_AT_RSI = Operand(6, None, 0, 0)
_AT_RDI = Operand(7, None, 0, 0)
_STRING_OPERANDS = {OpKind.MEMORY_SEG_RSI: _AT_RSI, OpKind.MEMORY_ESRDI: _AT_RDI}
_NO_ACCESS = {OpAccess.NONE, OpAccess.NO_MEM_ACCESS}
# They name memory without touching it, or touch it without faulting.
_HARMLESS = {
    Mnemonic.LEA,
    Mnemonic.NOP,
    Mnemonic.PREFETCHNTA,
    Mnemonic.PREFETCHT0,
    Mnemonic.PREFETCHT1,
    Mnemonic.PREFETCHT2,
    Mnemonic.PREFETCHW,
    Mnemonic.INVALID,
}

_information = InstructionInfoFactory()


class Flow(Enum):
    """What happens after an instruction."""

    NEXT = 0
    CALL = 1
    JUMP = 2


_FLOWS = {
    FlowControl.NEXT: Flow.NEXT,
    FlowControl.INDIRECT_CALL: Flow.CALL,
    FlowControl.INDIRECT_BRANCH: Flow.JUMP,
}


@dataclass(frozen=True, slots=True)
class Site:
    """One instruction that may touch the heap.

    Attributes:
        address: Of the instruction.
        code: Its bytes, which run anywhere.
        operands: Where it reads or writes: one, or two of a string instruction.
        flow: What happens after it; a call or jump takes its target from memory.
        repeats: It does nothing when rcx is 0.
    """

    address: int
    code: bytes
    operands: tuple[Operand, ...]
    flow: Flow = Flow.NEXT
    repeats: bool = False


@dataclass(frozen=True, slots=True)
class Census:
    """The sites of some functions, and how many were left out for which reason."""

    sites: list[Site]
    left_out: Counter[str]


def find_sites(code: bytes, base: int, functions: Iterable[Function]) -> Census:
    """Return the sites of functions in a section of code that begins at `base`."""
    census = Census([], Counter())
    seen_until = base
    for function in sorted(functions, key=lambda one: one.start):
        start, end = function.start - base, function.end - base
        if not any(function.rules):
            # A signal frame: its range begins before its first instruction.
            continue
        # Tables of hand-written code may overlap; each instruction counts once.
        if seen_until <= function.start and start < end <= len(code):
            seen_until = function.end
            census.sites.extend(_sites_in(code[start:end], function, census.left_out))
    return census


def _sites_in(
    code: bytes, function: Function, left_out: Counter[str]
) -> Iterator[Site]:
    decoder = IcedDecoder(64, code, ip=function.start)
    instruction = Instruction()
    while decoder.can_decode:
        decoder.decode_out(instruction)
        if instruction.is_string_instruction:
            operands = _string_operands(instruction)
        elif _touches_memory(instruction) and _may_be_heap(instruction, function):
            operands = _memory_operand(instruction)
        else:
            continue
        flow = _FLOWS.get(instruction.flow_control)
        if not operands or flow is None:
            left_out["unusual operand"] += 1
            continue
        start = instruction.ip - function.start
        yield Site(
            instruction.ip,
            code[start : start + instruction.len],
            operands,
            flow,
            instruction.has_rep_prefix or instruction.has_repne_prefix,
        )


_memory_access: dict[int, bool] = {}


def _touches_memory(instruction: Instruction) -> bool:
    """Whether an instruction with this code has a memory operand that it uses."""
    if instruction.op0_kind != OpKind.MEMORY and not any(
        instruction.op_kind(i) == OpKind.MEMORY for i in range(1, instruction.op_count)
    ):
        return False
    code = instruction.code
    known = _memory_access.get(code)
    if known is None:
        used = _information.info(instruction).used_memory()
        known = instruction.mnemonic not in _HARMLESS and any(
            memory.access not in _NO_ACCESS for memory in used
        )
        _memory_access[code] = known
    return known


def _may_be_heap(instruction: Instruction, function: Function) -> bool:
    base = instruction.memory_base
    if base in (Register.RSP, Register.RIP, Register.EIP):
        return False
    if instruction.segment_prefix in (Register.FS, Register.GS):
        return False
    if base == Register.RBP:
        rule = function.rule_at(instruction.ip)
        return rule is None or rule.register != RBP
    scaled = instruction.memory_index_scale > 1
    return base != Register.NONE or (
        instruction.memory_index != Register.NONE and not scaled
    )


def _memory_operand(instruction: Instruction) -> tuple[Operand, ...]:
    """Return the operand of an ordinary instruction, or nothing for unusual ones."""
    index = instruction.memory_index
    if index != Register.NONE and not RegisterExt.is_gpr64(index):
        return ()
    if instruction.op_mask != Register.NONE:
        return ()
    operand = operand_of(instruction)
    if operand is None or operand.uses(_RSP_NUMBER):
        return ()
    return (operand,)


def _string_operands(instruction: Instruction) -> tuple[Operand, ...]:
    kinds = [instruction.op_kind(i) for i in range(instruction.op_count)]
    return tuple(_STRING_OPERANDS[kind] for kind in kinds if kind in _STRING_OPERANDS)
