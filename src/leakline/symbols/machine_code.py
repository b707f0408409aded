"""The machine code of a file, decoded one function at a time.

Only what unwind tables cover is taken for code. A function may have several parts: the
compiler moves unlikely code away, and jumps there with the frame as it is.
"""

from bisect import bisect_right
from dataclasses import dataclass, field

from iced_x86 import Code, Decoder, FlowControl, Instruction, Register

from leakline.symbols.elf import SEGMENT_LOAD, ElfError, ElfFile, open_regular
from leakline.symbols.unwind_tables import RBP, RSP, Function, Rule, read_functions

# Where the CFA is when a function begins; a jump to code with this rule is a tail call.
AT_ENTRY = Rule(RSP, 8)

_LARGEST_FUNCTION_BYTES = 1 << 20
# Registers of iced that a CFA may be counted from, as unwind tables number them.
CFA_REGISTERS = {int(Register.RSP): RSP, int(Register.RBP): RBP}
_GOES_ON = (FlowControl.NEXT, FlowControl.CALL, FlowControl.INDIRECT_CALL)
_LONGEST_INSTRUCTION_BYTES = 15


@dataclass(slots=True)
class MachineCode:
    """A function and the parts of it that were moved away.

    Attributes:
        instructions: By address.
        tail_calls: Addresses of jumps that leave the function.
        branch_targets: Addresses that jumps inside the function lead to.
        is_complete: No jump through a table or register hides where it goes.
    """

    start: int
    end: int
    instructions: dict[int, Instruction] = field(default_factory=dict)
    tail_calls: set[int] = field(default_factory=set)
    branch_targets: set[int] = field(default_factory=set)
    is_complete: bool = True
    _parts: list[Function] = field(default_factory=list)
    _predecessors: dict[int, list[Instruction]] = field(default_factory=dict)

    def rule_at(self, address: int) -> Rule | None:
        """Where the CFA is before the instruction at an address."""
        for part in self._parts:
            if part.start <= address < part.end:
                return part.rule_at(address)
        return None

    def slot_of(self, instruction: Instruction) -> int | None:
        """The place in the frame that a memory operand means, from the CFA.

        None when the operand has another base than the frame's, or an index.
        """
        rule = self.rule_at(instruction.ip)
        base = CFA_REGISTERS.get(int(instruction.memory_base))
        if rule is None or rule.register != base:
            return None
        if instruction.memory_index != Register.NONE:
            return None
        displacement = int(instruction.memory_displacement)
        if displacement >= 1 << 63:
            displacement -= 1 << 64
        return displacement - rule.offset

    def ending_at(self, address: int) -> Instruction | None:
        """The instruction that ends at an address."""
        for size in range(1, _LONGEST_INSTRUCTION_BYTES + 1):
            instruction = self.instructions.get(address - size)
            if instruction is not None and instruction.next_ip == address:
                return instruction
        return None

    def successors(self, instruction: Instruction) -> list[int]:
        """Addresses of the instructions that may come next in the function."""
        flow = instruction.flow_control
        following: list[int] = []
        if flow in _GOES_ON:
            following = [instruction.next_ip]
        elif flow == FlowControl.CONDITIONAL_BRANCH:
            following = [instruction.next_ip, instruction.near_branch_target]
        elif flow == FlowControl.UNCONDITIONAL_BRANCH:
            following = [instruction.near_branch_target]
        return [one for one in following if one in self.instructions]

    def predecessors(self, address: int) -> list[Instruction]:
        """The instructions of the function that may come before an address."""
        if not self._predecessors:
            for instruction in self.instructions.values():
                for following in self.successors(instruction):
                    self._predecessors.setdefault(following, []).append(instruction)
        return self._predecessors.get(address, [])


class CodeFile:
    """The functions of one ELF file, by address.

    Raises:
        ElfError: The file has no unwind tables that can be read.
    """

    def __init__(self, elf: ElfFile) -> None:
        self._elf = elf
        try:
            table = elf.section(".eh_frame")
            address = _section_address(elf, ".eh_frame")
            found = sorted(read_functions(table, address), key=lambda one: one.start)
        except (IndexError, KeyError, ValueError):
            raise ElfError("its unwind tables cannot be read") from None
        self._functions = found
        self._starts = [function.start for function in found]
        self._decoded: dict[int, MachineCode | None] = {}

    def function_at(self, address: int) -> MachineCode | None:
        """The decoded function that contains an address; None when it is no code."""
        function = self._find(address)
        if function is None:
            return None
        if function.start not in self._decoded:
            self._decoded[function.start] = self._decode(function)
        return self._decoded[function.start]

    def bytes_at(self, address: int, size: int) -> bytes:
        """Bytes of the file as they are loaded at an address; may be fewer."""
        for segment in self._elf.segments:
            inside = address - segment.address
            if segment.kind == SEGMENT_LOAD and 0 <= inside < segment.file_size:
                with open_regular(self._elf.path) as file:
                    file.seek(segment.offset + inside)
                    return file.read(min(size, segment.file_size - inside))
        return b""

    def _find(self, address: int) -> Function | None:
        index = bisect_right(self._starts, address) - 1
        if index < 0 or address >= self._functions[index].end:
            return None
        return self._functions[index]

    def _decode(self, function: Function) -> MachineCode | None:
        if function.end - function.start > _LARGEST_FUNCTION_BYTES:
            return None
        code = MachineCode(function.start, function.end)
        pending = [function]
        while pending:
            part = pending.pop()
            self._add_part(code, part)
            pending += self._moved_parts(code, part)
        return code

    def _add_part(self, code: MachineCode, part: Function) -> None:
        code._parts.append(part)  # noqa: SLF001 - the two classes share it
        raw = self.bytes_at(part.start, part.end - part.start)
        for instruction in Decoder(64, raw, ip=part.start):
            if instruction.code != Code.INVALID:
                code.instructions[instruction.ip] = instruction

    def _moved_parts(self, code: MachineCode, part: Function) -> list[Function]:
        """Parts that jumps of one part lead to; other jumps out are tail calls."""
        found: dict[int, Function] = {}
        for address in range(part.start, part.end):
            instruction = code.instructions.get(address)
            if instruction is None:
                continue
            if instruction.flow_control == FlowControl.INDIRECT_BRANCH:
                code.is_complete = False
            target = _jump_target(instruction)
            if target is None:
                continue
            code.branch_targets.add(target)
            if target in code.instructions:
                continue
            other = self._find(target)
            if other is not None and other.rule_at(target) not in (AT_ENTRY, None):
                found[other.start] = other
            else:
                code.tail_calls.add(address)
        return list(found.values())


def _jump_target(instruction: Instruction) -> int | None:
    if instruction.flow_control in (
        FlowControl.CONDITIONAL_BRANCH,
        FlowControl.UNCONDITIONAL_BRANCH,
    ):
        return int(instruction.near_branch_target)
    return None


def _section_address(elf: ElfFile, name: str) -> int:
    section = elf.sections[name]
    for segment in elf.segments:
        inside = section.offset - segment.offset
        if segment.kind == SEGMENT_LOAD and 0 <= inside < segment.file_size:
            return segment.address + inside
    raise ElfError(f"its {name} section is not loaded")
