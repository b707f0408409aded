"""Finds the loads and stores of a range of code that may touch the heap.

What is addressed through the stack pointer, a frame pointer, the instruction pointer, a
constant or thread-local storage cannot, and is no *site*.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
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
# Instructions before a site that may become its jump.
_REMEMBERED = 4
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
        limit: End of its function.
        before: Addresses of some instructions before it, the nearest first.
        flow: What happens after it; a call or jump takes its target from memory.
        repeats: It does nothing when rcx is 0.
    """

    address: int
    code: bytes
    operands: tuple[Operand, ...]
    limit: int
    before: tuple[int, ...] = ()
    flow: Flow = Flow.NEXT
    repeats: bool = False

    @property
    def end(self) -> int:
        """Behind the instruction."""
        return self.address + len(self.code)


@dataclass(frozen=True, slots=True)
class Census:
    """The sites of some functions, and what is known of jumps to them.

    Attributes:
        sites: In ascending order of address.
        left_out: How many were left out, by reason.
        targets: Addresses that branches lead to.
        opaque: Ends of functions with jumps to addresses that are computed.
        functions: In ascending order of address.
        crossings: Branches out of a function, by its number, and where they lead.
    """

    sites: list[Site] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    targets: set[int] = field(default_factory=set)
    opaque: set[int] = field(default_factory=set)
    functions: list[Function] = field(default_factory=list)
    crossings: set[tuple[int, int]] = field(default_factory=set)

    def leave_out(self, taken: "Taken") -> None:
        """Leave out the sites whose code is not there to be armed."""
        kept = [site for site in self.sites if taken.is_free(site.address, site.end)]
        self.left_out["patched by lens loss"] += len(self.sites) - len(kept)
        self.sites[:] = kept


@dataclass(frozen=True, slots=True)
class Taken:
    """Which bytes of the code others have changed or rely on.

    Attributes:
        base: Address of the first byte.
        marks: One byte per byte of code, not 0 where it is taken.
    """

    base: int
    marks: bytes

    def is_free(self, start: int, end: int) -> bool:
        """Tell whether nobody else has a part of a range."""
        return not any(self.marks[start - self.base : end - self.base])


def find_sites(code: bytes, base: int, functions: Iterable[Function]) -> Census:
    """Return the sites of functions in a section of code that begins at `base`."""
    census = Census()
    seen_until = base
    for function in sorted(functions, key=lambda one: one.start):
        start, end = function.start - base, function.end - base
        if not any(function.rules):
            # A signal frame: its range begins before its first instruction.
            continue
        # Tables of hand-written code may overlap; each instruction counts once.
        if seen_until <= function.start and start < end <= len(code):
            seen_until = function.end
            census.functions.append(function)
            _find_in(code[start:end], function, census)
    return census


def _find_in(code: bytes, function: Function, census: Census) -> None:
    decoder = IcedDecoder(64, code, ip=function.start)
    instruction = Instruction()
    before: tuple[int, ...] = ()
    while decoder.can_decode:
        address = decoder.ip
        decoder.decode_out(instruction)
        if instruction.op0_kind == OpKind.NEAR_BRANCH64:
            target = instruction.near_branch_target
            census.targets.add(target)
            if not function.start <= target < function.end:
                census.crossings.add((len(census.functions) - 1, target))
        elif instruction.flow_control == FlowControl.INDIRECT_BRANCH:
            census.opaque.add(function.end)
        operands = _operands(instruction, function)
        if operands is not None:
            _add_site(code, function, instruction, operands, before, census)
        before = (address, *before[: _REMEMBERED - 1])


def _operands(
    instruction: Instruction, function: Function
) -> tuple[Operand, ...] | None:
    """Return what a site touches, nothing for unusual ones; None when it is no site."""
    if instruction.is_string_instruction:
        return _string_operands(instruction)
    if _touches_memory(instruction) and _may_be_heap(instruction, function):
        return _memory_operand(instruction)
    return None


def _add_site(  # noqa: PLR0913, PLR0917 - what the loop over instructions knows
    code: bytes,
    function: Function,
    instruction: Instruction,
    operands: tuple[Operand, ...],
    before: tuple[int, ...],
    census: Census,
) -> None:
    flow = _FLOWS.get(instruction.flow_control)
    if not operands or flow is None:
        census.left_out["unusual operand"] += 1
        return
    start = instruction.ip - function.start
    census.sites.append(
        Site(
            instruction.ip,
            code[start : start + instruction.len],
            operands,
            function.end,
            before,
            flow,
            instruction.has_rep_prefix or instruction.has_repne_prefix,
        )
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
