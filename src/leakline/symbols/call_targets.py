"""Names the functions that calls lead to, also through stubs and tables of imports."""

from dataclasses import dataclass, field
from struct import Struct

from iced_x86 import Decoder, FlowControl, Instruction

from leakline.symbols.elf import ElfError, ElfFile, text_at
from leakline.symbols.machine_code import CodeFile
from leakline.symbols.symbol_table import SymbolTable, read_symbol_table

_RELOCATION = Struct("<QQq")
_SYMBOL = Struct("<IBBHQQ")
_STUB_BYTES = 16
_STUB_INSTRUCTIONS = 3


@dataclass(slots=True)
class CallTargets:
    """The functions that the code of one file calls."""

    code: CodeFile
    imports: dict[int, str]
    table: SymbolTable | None
    _stubs: dict[int, str] = field(default_factory=dict)

    def name(self, instruction: Instruction) -> str:
        """The function that a call or jump leads to; empty when it is not known."""
        flow = instruction.flow_control
        if flow in (FlowControl.INDIRECT_CALL, FlowControl.INDIRECT_BRANCH):
            return self._imported(instruction)
        target = int(instruction.near_branch_target)
        named = self.table.find(target) if self.table is not None else None
        if named is not None and named.covers:
            return named.symbol
        if target not in self._stubs:
            self._stubs[target] = self._name_stub(target)
        return self._stubs[target]

    def _imported(self, instruction: Instruction) -> str:
        if not instruction.is_ip_rel_memory_operand:
            return ""
        return self.imports.get(instruction.ip_rel_memory_address, "")

    def _name_stub(self, target: int) -> str:
        """A stub jumps through the table of imports, perhaps after a landing mark."""
        decoder = Decoder(64, self.code.bytes_at(target, _STUB_BYTES), ip=target)
        for _ in range(_STUB_INSTRUCTIONS):
            if not decoder.can_decode:
                break
            instruction = decoder.decode()
            if instruction.flow_control == FlowControl.INDIRECT_BRANCH:
                return self._imported(instruction)
        return ""


def call_targets(elf: ElfFile, code: CodeFile) -> CallTargets:
    """Reads what is needed to name the calls of a file."""
    try:
        return CallTargets(code, _imports(elf), read_symbol_table(elf))
    except (ElfError, OSError):
        return CallTargets(code, {}, None)


def _imports(elf: ElfFile) -> dict[int, str]:
    """Names of imported functions by the address of their place in the table."""
    symbols, strings = elf.section(".dynsym"), elf.section(".dynstr")
    found = {}
    for name in (".rela.plt", ".rela.dyn"):
        data = elf.section(name)
        whole = data[: len(data) // _RELOCATION.size * _RELOCATION.size]
        for address, information, _ in _RELOCATION.iter_unpack(whole):
            at = (information >> 32) * _SYMBOL.size
            if at and at + _SYMBOL.size <= len(symbols):
                text = text_at(strings, _SYMBOL.unpack_from(symbols, at)[0])
                found[address] = text
    return found
