"""Finds the stores of a range of code that can overwrite a pointer."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cache

from iced_x86 import (
    Code,
    Decoder,
    FlowControl,
    Instruction,
    InstructionInfoFactory,
    MemorySizeExt,
    Mnemonic,
    OpAccess,
    OpKind,
    Register,
    RegisterExt,
    RflagsBits,
)

from leakline.patching.masks import Mask, is_masked, mask_of
from leakline.patching.operands import Operand, number_of, operand_of
from leakline.symbols.unwind_tables import Function, Rule

_WRITES = {
    OpAccess.WRITE,
    OpAccess.READ_WRITE,
    OpAccess.COND_WRITE,
    OpAccess.READ_COND_WRITE,
}
_ARITHMETIC_FLAGS = (
    RflagsBits.CF | RflagsBits.OF | RflagsBits.SF | RflagsBits.ZF | RflagsBits.PF
)
# Far enough to decide all but a few sites; the others count as alive.
_LIVENESS_HORIZON = 40
_RSP_NUMBER = 4
# Instructions before a store that may become its jump.
_REMEMBERED = 4
_AT_RDI = Operand(7, None, 0, 0)
_POINTER_BYTES = 8

_information = InstructionInfoFactory()


@dataclass(frozen=True, slots=True)
class Store:
    """One instruction that overwrites 8 bytes or more.

    Attributes:
        address: Of the instruction.
        code: Its bytes.
        operand: Where it stores.
        words: Pointers it can overwrite, 1 to 8; 0 for string instructions.
        flags_dead: The arithmetic flags before it are read by nobody.
        caller: Where the frame's return address is: the CFA rule, or None.
        limit: End of its function.
        before: Addresses of some instructions before it, the nearest first.
        displacement_at: Offset in `code` of the displacement, for operands relative to
            the instruction pointer.
        unit_bytes: Of a string instruction, bytes per step; 0 for others.
        bears: What it writes shall be looked at, too.
        keeps_flags: It leaves the arithmetic flags as they are.
        repeats: A string instruction takes its steps from rcx.
        mask: Which of its bytes a vector store writes; None for all.
        source: Number of the general register that it writes as it is, or None.
        stamps_itself: Its trampoline shall stamp without a hook where it can.
    """

    address: int
    code: bytes
    operand: Operand
    words: int
    flags_dead: bool
    caller: Rule | None
    limit: int
    before: tuple[int, ...] = ()
    displacement_at: int = 0
    unit_bytes: int = 0
    repeats: bool = False
    bears: bool = False
    keeps_flags: bool = True
    mask: Mask | None = None
    source: int | None = None
    stamps_itself: bool = False

    @property
    def always_calls(self) -> bool:
        """Whether a hook has to look at what it overwrites, every time."""
        return self.unit_bytes > 0 or self.mask is not None


@dataclass(frozen=True, slots=True)
class Census:
    """The stores of some functions, and what is known of jumps to them.

    Attributes:
        births: Stores shall be looked at after they were done, too.
        stores: In the order of the functions.
        left_out: How many were left out, by reason.
        targets: Addresses that branches lead to.
        opaque: Ends of functions with jumps to addresses that are computed.
    """

    births: bool = False
    stores: list[Store] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    targets: set[int] = field(default_factory=set)
    opaque: set[int] = field(default_factory=set)


def find_stores(
    code: bytes, base: int, functions: Iterable[Function], *, births: bool = False
) -> Census:
    """Return the stores of functions in a section of code that begins at `base`.

    Args:
        code: The section.
        base: Its address.
        functions: Where to look.
        births: Stores shall be looked at after they were done, too.
    """
    census = Census(births)
    for function in functions:
        start, end = function.start - base, function.end - base
        if 0 <= start < end <= len(code):
            _find_in(code[start:end], function, census)
    return census


def _find_in(code: bytes, function: Function, census: Census) -> None:
    decoder = Decoder(64, code, ip=function.start)
    instruction = Instruction()
    before: tuple[int, ...] = ()
    while decoder.can_decode:
        address = decoder.ip
        decoder.decode_out(instruction)
        kind = instruction.op0_kind
        if kind == OpKind.MEMORY:
            if instruction.memory_base != Register.RSP:
                size = _written_bytes(instruction)
                if size >= _POINTER_BYTES:
                    _consider(code, function, instruction, before, size, census)
            if instruction.flow_control == FlowControl.INDIRECT_BRANCH:
                census.opaque.add(function.end)
        elif kind == OpKind.NEAR_BRANCH64:
            census.targets.add(instruction.near_branch_target)
        elif kind in _STRING_TARGETS and _is_string_store(instruction):
            store = _string_store(code, function, instruction, before)
            copies = instruction.op1_kind in _STRING_SOURCES
            bears = census.births and copies
            census.stores.append(replace(store, bears=bears))
        elif instruction.flow_control == FlowControl.INDIRECT_BRANCH:
            census.opaque.add(function.end)
        before = (address, *before[: _REMEMBERED - 1])


_STRING_TARGETS = {OpKind.MEMORY_ESRDI}
_STRING_SOURCES = {OpKind.MEMORY_SEG_RSI}


def _is_string_store(instruction: Instruction) -> bool:
    return instruction.is_string_instruction and (
        MemorySizeExt.size(instruction.memory_size) >= _POINTER_BYTES
        or instruction.has_rep_prefix
        or instruction.has_repne_prefix
    )


def _string_store(
    code: bytes, function: Function, instruction: Instruction, before: tuple[int, ...]
) -> Store:
    address = instruction.ip
    start = address - function.start
    return Store(
        address,
        code[start : start + instruction.len],
        _AT_RDI,
        0,
        flags_dead=False,
        caller=function.rule_at(address),
        limit=function.end,
        before=before,
        unit_bytes=_memory_bytes(instruction.memory_size),
        repeats=instruction.has_rep_prefix or instruction.has_repne_prefix,
    )


def _written_bytes(instruction: Instruction) -> int:
    """Return the bytes an instruction writes to its first operand, 0 for none."""
    if not _writes_first_operand(instruction.code, instruction):
        return 0
    return _memory_bytes(instruction.memory_size)


_access: dict[int, bool] = {}


def _writes_first_operand(code: int, instruction: Instruction) -> bool:
    known = _access.get(code)
    if known is None:
        known = _information.info(instruction).op0_access in _WRITES
        _access[code] = known
    return known


# Of those that read what they overwrite, these can store another pointer.
_EXCHANGES = {
    Mnemonic.XCHG,
    Mnemonic.CMPXCHG,
    Mnemonic.CMPXCHG16B,
    Mnemonic.XADD,
    Mnemonic.ADD,
    Mnemonic.SUB,
}


def _can_bear(instruction: Instruction, operand: Operand) -> bool:
    """Tell whether a store can create a reference, and its slot be found after it."""
    information = _information.info(instruction)
    if information.op0_access == OpAccess.WRITE:
        return not instruction.rflags_modified
    changed = {
        number_of(RegisterExt.full_register(used.register))
        for used in information.used_registers()
        if used.access in _WRITES
    }
    return instruction.mnemonic in _EXCHANGES and not any(
        operand.uses(number) for number in changed if number is not None
    )


@cache
def _memory_bytes(memory_size: int) -> int:
    return MemorySizeExt.size(memory_size)  # type: ignore[arg-type]  # it is an int


# By bytes written; an 80-bit number is taken for its first word.
_WORDS = {8: 1, 10: 1, 16: 2, 32: 4, 64: 8}


def _consider(  # noqa: PLR0913, PLR0917 - what the loop over instructions knows
    code: bytes,
    function: Function,
    instruction: Instruction,
    before: tuple[int, ...],
    size: int,
    census: Census,
) -> None:
    operand = operand_of(instruction)
    words = _WORDS.get(size, 0)
    mask = mask_of(instruction, size)
    if operand is None:
        census.left_out["unusual operand"] += 1
    elif words == 0:
        census.left_out["unusual size"] += 1
    elif mask is None and is_masked(instruction):
        census.left_out["masked vector"] += 1
    elif instruction.code == Code.INVALID or operand.uses(_RSP_NUMBER):
        census.left_out["unusual operand"] += 1
    else:
        address = instruction.ip
        start = address - function.start
        census.stores.append(
            Store(
                address,
                code[start : start + instruction.len],
                operand,
                words,
                _flags_are_dead(code, function, instruction),
                function.rule_at(address),
                function.end,
                before,
                _displacement_at(code, function, instruction)
                if operand.relative
                else 0,
                bears=census.births
                and mask is None
                and _can_bear(instruction, operand),
                keeps_flags=not instruction.rflags_modified,
                mask=mask,
                source=_source_of(instruction),
            )
        )


def _source_of(instruction: Instruction) -> int | None:
    """Return the number of the register that a plain store writes."""
    if instruction.code != Code.MOV_RM64_R64:
        return None
    return number_of(instruction.op1_register)


def _displacement_at(code: bytes, function: Function, instruction: Instruction) -> int:
    decoder = Decoder(64, code, ip=function.start)
    decoder.position = instruction.ip - function.start
    decoder.ip = instruction.ip
    return int(decoder.get_constant_offsets(decoder.decode()).displacement_offset)


def _flags_are_dead(  # noqa: PLR0911 - one per way to know
    code: bytes, function: Function, instruction: Instruction
) -> bool:
    """Tell whether nobody reads the flags set before an instruction.

    Follows the straight line and unconditional jumps inside the function; calls and
    returns kill the flags by the calling convention.
    """
    decoder = Decoder(64, code, ip=function.start)
    decoder.position = instruction.ip - function.start
    decoder.ip = instruction.ip
    following = Instruction()
    for _ in range(_LIVENESS_HORIZON):
        if not decoder.can_decode:
            return False
        decoder.decode_out(following)
        if following.rflags_read & _ARITHMETIC_FLAGS:
            return False
        if following.rflags_modified & _ARITHMETIC_FLAGS == _ARITHMETIC_FLAGS:
            return True
        flow = following.flow_control
        if flow in _KILLS_FLAGS:
            return True
        if flow == FlowControl.UNCONDITIONAL_BRANCH:
            target = following.near_branch_target
            if not function.start <= target < function.end:
                return True
            decoder.position = target - function.start
            decoder.ip = target
        elif flow != FlowControl.NEXT:
            return False
    return False


_KILLS_FLAGS = {FlowControl.CALL, FlowControl.RETURN, FlowControl.INDIRECT_CALL}
