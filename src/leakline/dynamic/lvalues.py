"""Writes the memory operand of an instruction as the program's source would.

The address comes from registers; what those hold is told by debug information at the
instruction, or by the instructions before it in the same straight line of code.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from elftools.common.exceptions import ELFError
from elftools.dwarf.die import DIE
from iced_x86 import (
    FlowControl,
    Instruction,
    MemorySizeExt,
    Mnemonic,
    OpKind,
    Register,
    RegisterExt,
)

from leakline.dynamic.code_reader import CodeReader
from leakline.dynamic.value_flow import KEPT_BY_CALLS
from leakline.symbols.demangle import demangle
from leakline.symbols.dwarf_entries import Uncertain
from leakline.symbols.dwarf_registers import DWARF_REGISTERS
from leakline.symbols.dwarf_types import AGGREGATES, is_pointer, member_at, type_of
from leakline.symbols.locals import Place
from leakline.symbols.machine_code import MachineCode
from leakline.symbols.resolve import Module

# Instructions looked back through, and pointers followed, before giving up.
_FARTHEST = 24
_DEEPEST = 4

_INDEXING = {
    Mnemonic.ADD,
    Mnemonic.SHL,
    Mnemonic.CDQE,
    Mnemonic.MOVSXD,
    Mnemonic.IMUL,
}


class Lvalue(NamedTuple):
    """A place in memory, as it is written, with its type if that is known."""

    text: str
    type: DIE | None


class _Pointer(NamedTuple):
    """A pointer: `text` is what it points to, or with `is_value` the pointer itself."""

    text: str
    target: DIE | None
    is_value: bool
    indexed: bool = False


@dataclass(slots=True)
class Lvalues:
    """Names operands of the code of a module."""

    reader: CodeReader
    module: Module

    def stored_by(self, address: int) -> Lvalue | None:
        """The place that the store at an address writes to."""
        return self._stored(address, lambda _: 0)

    def stored_in_block(self, address: int, offset: int) -> Lvalue | None:
        """The place at an offset of the block that a store writes to.

        A store of several words writes several fields.
        """
        return self._stored(address, lambda one: _word_inside(one, offset))

    def _stored(
        self, address: int, inside: Callable[[Instruction], int]
    ) -> Lvalue | None:
        code = self.reader.code_at(self.module, address)
        instruction = code.instructions.get(address) if code is not None else None
        if code is None or instruction is None:
            return None
        try:
            return self._operand(code, instruction, 0, inside(instruction))
        except (Uncertain, ELFError, KeyError, ValueError):
            return None

    def in_argument(self, site: int, offset: int) -> Lvalue | None:
        """The place behind the first argument of the call that returns to a site."""
        code = self.reader.code_at(self.module, site - 1)
        call = code.ending_at(site) if code is not None else None
        if code is None or call is None:
            return None
        try:
            pointer = self._register(code, call.ip, int(Register.RDI), 0)
            return _behind(pointer, offset, indexed=False) if pointer else None
        except (Uncertain, ELFError, KeyError, ValueError):
            return None

    def of_thread(self, address: int, distance: int) -> Lvalue | None:
        """The variable at a distance from the thread pointer, as some code knows it."""
        try:
            return self._thread_local(address, distance)
        except (Uncertain, ELFError, KeyError, ValueError):
            return None

    def variable_at(self, at: int, code: Sequence[int]) -> str | None:
        """The variable at an address, with its member if some code knows its type."""
        names = []
        for address in code or (0,):
            try:
                place = self._global(address, at)
            except (Uncertain, ELFError, KeyError, ValueError):
                continue
            if place is not None:
                names.append(place)
        typed = [place.text for place in names if place.type is not None]
        return next(iter([*typed, *(place.text for place in names)]), None)

    def _operand(
        self, code: MachineCode, instruction: Instruction, depth: int, inside: int = 0
    ) -> Lvalue | None:
        """A memory operand, or the place a few bytes behind its start."""
        if instruction.is_ip_rel_memory_operand:
            at = int(instruction.ip_rel_memory_address) + inside
            return self._global(instruction.ip, at)
        slot = code.slot_of(instruction)
        if slot is not None:
            place = Place(None, slot + inside)
            return self._local(instruction.ip, place)
        displacement = _displacement(instruction) + inside
        if int(instruction.memory_base) or int(instruction.memory_index):
            return self._behind_register(code, instruction, displacement, depth)
        if instruction.segment_prefix == Register.FS:
            return self._thread_local(instruction.ip, displacement)
        return self._global(instruction.ip, displacement)

    def _behind_register(
        self, code: MachineCode, instruction: Instruction, displacement: int, depth: int
    ) -> Lvalue | None:
        """The place at a distance from where a register points."""
        base = int(instruction.memory_base)
        in_thread = self._thread_offset(code, instruction.ip, base, depth)
        if in_thread is not None:
            return self._thread_local(instruction.ip, in_thread + displacement)
        indexed = instruction.memory_index != Register.NONE
        for register in (instruction.memory_base, instruction.memory_index):
            if register != Register.NONE:
                pointer = self._register(code, instruction.ip, int(register), depth)
                if pointer is not None:
                    return _behind(pointer, displacement, indexed=indexed)
        return None

    def _register(
        self, code: MachineCode, address: int, register: int, depth: int
    ) -> _Pointer | None:
        """What a register points to before the instruction at an address."""
        if depth > _DEEPEST:
            return None
        indexed = False
        for at, before in _backwards(code, address, register):
            named = self._named(at, register)
            if named is not None:
                return named._replace(indexed=indexed)
            if before is None or not _writes(before, register):
                continue
            if before.mnemonic not in _INDEXING:
                found = self._source(code, before, depth)
                return found and found._replace(indexed=indexed or found.indexed)
            indexed = True
            other = _other_operand(before, register)
            found = self._register(code, before.ip, other, depth + 1) if other else None
            if found is not None:
                return found._replace(indexed=True)
        return None

    def _named(self, address: int, register: int) -> _Pointer | None:
        """The variable in a register, if it is a pointer."""
        number = DWARF_REGISTERS.get(register)
        local = self._local(address, Place(number)) if number is not None else None
        if local is None or not is_pointer(local.type):
            return None
        return _Pointer(local.text, type_of(local.type), is_value=True)

    def _source(
        self, code: MachineCode, instruction: Instruction, depth: int
    ) -> _Pointer | None:
        """What the target of a plain move points to."""
        if instruction.mnemonic == Mnemonic.LEA:
            place = self._operand(code, instruction, depth + 1)
            return _Pointer(place.text, place.type, is_value=False) if place else None
        if instruction.mnemonic != Mnemonic.MOV:
            return None
        if instruction.op1_kind == OpKind.REGISTER:
            source = int(instruction.op1_register)
            return self._register(code, instruction.ip, source, depth + 1)
        if instruction.op1_kind == OpKind.MEMORY:
            place = self._operand(code, instruction, depth + 1)
            if place is not None and is_pointer(place.type):
                return _Pointer(place.text, type_of(place.type), is_value=True)
        return None

    def _local(self, address: int, place: Place) -> Lvalue | None:
        found = self.reader.locals_at(self.module, address, place)
        if not found:
            return None
        member = member_at(type_of(found[0].entry), found[0].offset)
        return Lvalue(found[0].name, member.type if member else None)

    def _global(self, address: int, at: int) -> Lvalue | None:
        opened = self.reader.open(self.module)
        found = opened.symbols.find(at) if opened is not None else None
        return self._variable(address, *found) if found is not None else None

    def _thread_local(self, address: int, distance: int) -> Lvalue | None:
        opened = self.reader.open(self.module)
        symbols = opened.thread_symbols if opened is not None else None
        found = symbols.find(distance) if symbols is not None else None
        return self._variable(address, *found) if found is not None else None

    def _thread_offset(
        self, code: MachineCode, address: int, register: int, depth: int
    ) -> int | None:
        """Where among a library's thread-local variables a register points."""
        if depth > _DEEPEST:
            return None
        for at, before in _backwards(code, address, register):
            if before is None:
                call = None if at in code.branch_targets else code.ending_at(at)
                is_result = call is not None and register == Register.RAX
                return self._offset_asked(code, call) if call and is_result else None
            if not _writes(before, register):
                continue
            if before.mnemonic != Mnemonic.MOV or before.op1_kind != OpKind.REGISTER:
                return None
            source = int(before.op1_register)
            return self._thread_offset(code, before.ip, source, depth + 1)
        return None

    def _offset_asked(self, code: MachineCode, call: Instruction) -> int | None:
        """The offset of the variable whose address a call asks for."""
        opened = self.reader.open(self.module)
        words = code.ending_at(call.ip)
        if opened is None or words is None or not words.is_ip_rel_memory_operand:
            return None
        if opened.targets.name(call) != "__tls_get_addr":
            return None
        return opened.thread_table.get(int(words.ip_rel_memory_address))

    def _variable(self, address: int, symbol: str, inside: int) -> Lvalue:
        name = demangle([symbol])[symbol]
        entry = self.reader.global_entry(self.module, address, symbol)
        member = member_at(type_of(entry), inside) if entry is not None else None
        if member is not None:
            return Lvalue(name + member.path, member.type)
        return Lvalue(f"{name} + {inside}" if inside else name, None)


def _displacement(instruction: Instruction) -> int:
    unsigned = int(instruction.memory_displacement)
    return unsigned - (1 << 64) if unsigned >= 1 << 63 else unsigned


def _word_inside(instruction: Instruction, offset: int) -> int:
    """How far inside of a store the word at an offset of its block lies.

    If its register points to the start of the block; else the first word is meant.
    """
    inside = offset - _displacement(instruction)
    size = MemorySizeExt.size(instruction.memory_size)
    return inside if 0 < inside < size else 0


def _behind(pointer: _Pointer, offset: int, *, indexed: bool) -> Lvalue | None:
    """The place at an offset from where a pointer points."""
    indexed = indexed or pointer.indexed
    target = pointer.target
    if not pointer.is_value:
        if indexed:
            element = _element(target)
            return Lvalue(f"{_without_index(pointer.text)}[...]", element)
        member = member_at(target, offset)
        return Lvalue(pointer.text + member.path, member.type) if member else None
    if target is not None and target.tag in AGGREGATES and not indexed:
        member = member_at(target, offset)
        if member is None:
            return None
        path = member.path.removeprefix(".")
        arrow = "->" if path and not path.startswith("[") else ""
        return Lvalue(f"{pointer.text}{arrow}{path}", member.type)
    if indexed:
        return Lvalue(f"{pointer.text}[...]", target)
    text = f"*{pointer.text}" if offset == 0 else f"{pointer.text}[{offset // 8}]"
    return Lvalue(text, target)


def _element(die: DIE | None) -> DIE | None:
    return type_of(die) if die is not None and die.tag == "DW_TAG_array_type" else die


def _without_index(text: str) -> str:
    return text.removesuffix("[0]")


def _backwards(
    code: MachineCode, address: int, register: int
) -> Iterator[tuple[int, Instruction | None]]:
    """Addresses of a straight line of code with the instructions before them."""
    for _ in range(_FARTHEST):
        before = code.ending_at(address)
        joined = address in code.branch_targets
        if before is None or joined or not _is_passed_through(before, register):
            yield address, None
            return
        yield address, before
        address = before.ip


def _is_passed_through(instruction: Instruction, register: int) -> bool:
    """Whether a register is the same on both sides of a jump or call that goes on."""
    flow = instruction.flow_control
    if flow in (FlowControl.CALL, FlowControl.INDIRECT_CALL):
        return register in KEPT_BY_CALLS
    return flow in (FlowControl.NEXT, FlowControl.CONDITIONAL_BRANCH)


def _writes(instruction: Instruction, register: int) -> bool:
    if instruction.op_count == 0:
        return instruction.mnemonic == Mnemonic.CDQE and register == Register.RAX
    if instruction.op0_kind != OpKind.REGISTER:
        return False
    if instruction.mnemonic in (Mnemonic.CMP, Mnemonic.TEST, Mnemonic.PUSH):
        return False
    return int(RegisterExt.full_register(instruction.op0_register)) == register


def _other_operand(instruction: Instruction, register: int) -> int:
    """The register that an addition adds, 0 if none."""
    if instruction.mnemonic != Mnemonic.ADD or instruction.op1_kind != OpKind.REGISTER:
        return 0
    other = int(instruction.op1_register)
    return other if other != register else 0
