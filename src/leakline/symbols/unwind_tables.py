"""Reads `.eh_frame`: which addresses are code, and where a frame's caller is found.

Only what the compiler covers with unwind tables is taken for code, so that data between
functions is never decoded.
"""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

RSP = 7
RBP = 6

_EXTENDED_LENGTH = 0xFFFFFFFF
_RELATIVE = 0x10  # of a pointer encoding: to its own place
_LAST_BYTE = 0x80  # bytes of a LEB128 number below this end it

_OFFSET_RULES = {5, 20}  # offset_extended, val_offset: two ULEB operands
_ONE_ULEB = {6, 7, 8, 46}  # restore_extended, undefined, same_value, GNU_args_size
_TWO_ULEB = {9, 47}  # register, GNU_negative_offset_extended
_ULEB_SLEB = {17, 21}  # offset_extended_sf, val_offset_sf


@dataclass(frozen=True, slots=True)
class Rule:
    """Where the CFA is: a register (DWARF number) plus an offset."""

    register: int
    offset: int


@dataclass(frozen=True, slots=True)
class Function:
    """One range of code and the CFA rule from each address on; None is unknown."""

    start: int
    end: int
    addresses: list[int] = field(repr=False)
    rules: list[Rule | None] = field(repr=False)

    def rule_at(self, address: int) -> Rule | None:
        """Return the rule in force at an address of the function."""
        return self.rules[bisect_right(self.addresses, address) - 1]


@dataclass(frozen=True, slots=True)
class _Common:
    """What the entries of a CIE share."""

    code_factor: int
    data_factor: int
    encoding: int
    augmented: bool
    is_signal_frame: bool
    program: tuple[int, int]


class _Reader:
    """A position in the section's bytes."""

    def __init__(self, data: bytes, position: int) -> None:
        self.data = data
        self.position = position

    def unsigned(self, size: int) -> int:
        self.position += size
        piece = self.data[self.position - size : self.position]
        return int.from_bytes(piece, "little")

    def signed(self, size: int) -> int:
        self.position += size
        piece = self.data[self.position - size : self.position]
        return int.from_bytes(piece, "little", signed=True)

    def uleb(self) -> int:
        result = shift = 0
        while True:
            byte = self.data[self.position]
            self.position += 1
            result |= (byte & 127) << shift
            shift += 7
            if byte < _LAST_BYTE:
                return result

    def sleb(self) -> int:
        start = self.position
        value = self.uleb()
        bits = 7 * (self.position - start)
        return value - (1 << bits) if value >> (bits - 1) & 1 else value

    def skip_block(self) -> None:
        """Pass over a length and as many bytes."""
        length = self.uleb()
        self.position += length

    def text(self) -> bytes:
        end = self.data.index(0, self.position)
        piece = self.data[self.position : end]
        self.position = end + 1
        return piece

    def pointer(self, encoding: int, section: int) -> int:
        here = section + self.position
        sizes = {0: 8, 2: 2, 3: 4, 4: 8, 10: 2, 11: 4, 12: 8}
        size = sizes[encoding & 15]
        value = self.signed(size) if encoding & 8 else self.unsigned(size)
        return value + here if encoding & 0x70 == _RELATIVE else value


def read_functions(data: bytes, section: int) -> Iterator[Function]:
    """Yield the functions of an `.eh_frame` section at link-time address `section`.

    Raises:
        IndexError: The table is cut short.
        KeyError: It uses an encoding that compilers do not make.
        ValueError: It is not an unwind table.
    """
    commons: dict[int, _Common] = {}
    position = 0
    while position + 4 <= len(data):
        reader = _Reader(data, position)
        length = reader.unsigned(4)
        if length == 0:
            position += 4
            continue
        if length == _EXTENDED_LENGTH:
            length = reader.unsigned(8)
        end = reader.position + length
        entry = reader.position
        identifier = reader.unsigned(4)
        if identifier == 0:
            commons[position] = _read_common(reader, end, section)
        else:
            common = commons[entry - identifier]
            yield _read_function(reader, end, common, section)
        position = end


def _read_common(reader: _Reader, end: int, section: int) -> _Common:
    reader.unsigned(1)
    augmentation = reader.text()
    code_factor, data_factor = reader.uleb(), reader.sleb()
    reader.uleb()
    encoding, signal = 0, False
    if augmentation.startswith(b"z"):
        program = reader.uleb()
        program += reader.position
        for letter in augmentation[1:].decode():
            if letter == "R":
                encoding = reader.unsigned(1)
            elif letter == "P":
                reader.pointer(reader.unsigned(1) & 0x7F, section)
            elif letter == "L":
                reader.unsigned(1)
            elif letter == "S":
                signal = True
        reader.position = program
    return _Common(
        code_factor,
        data_factor,
        encoding,
        augmentation.startswith(b"z"),
        signal,
        (reader.position, end),
    )


def _read_function(
    reader: _Reader, end: int, common: _Common, section: int
) -> Function:
    start = reader.pointer(common.encoding, section)
    size = reader.pointer(common.encoding & 15, section)
    if common.augmented:
        reader.skip_block()
    addresses: list[int] = [start]
    rules: list[Rule | None] = [None]
    if not common.is_signal_frame:
        first = _Machine(common, start)
        first.run(reader.data, *common.program)
        machine = _Machine(common, start, first.rule)
        machine.run(reader.data, reader.position, end)
        addresses, rules = machine.addresses, machine.rules
    return Function(start, start + size, addresses, rules)


class _Machine:
    """Runs call frame instructions, following the CFA only."""

    def __init__(self, common: _Common, start: int, rule: Rule | None = None) -> None:
        self.common = common
        self.addresses = [start]
        self.rules: list[Rule | None] = [rule]
        self.remembered: list[Rule | None] = []

    @property
    def rule(self) -> Rule | None:
        return self.rules[-1]

    def run(self, data: bytes, position: int, end: int) -> None:
        """Run the instructions between two positions."""
        reader = _Reader(data, position)
        while reader.position < end:
            code = reader.unsigned(1)
            match code >> 6:
                case 0:
                    self._extended(code, reader)
                case 1:
                    self._advance((code & 63) * self.common.code_factor)
                case 2:
                    reader.uleb()
                case _:
                    pass  # restores a register that is not followed

    def _advance(self, size: int) -> None:
        self.addresses.append(self.addresses[-1] + size)
        self.rules.append(self.rules[-1])

    def _set(self, register: int, offset: int) -> None:
        self.rules[-1] = Rule(register, offset)

    def _extended(self, code: int, reader: _Reader) -> None:  # noqa: C901, PLR0912 - one arm per instruction
        match code:
            case 0:
                pass
            case 2 | 3 | 4:
                size = reader.unsigned(1 << (code - 2))
                self._advance(size * self.common.code_factor)
            case 10:
                self.remembered.append(self.rule)
            case 11:
                self.rules[-1] = self.remembered.pop()
            case 12:
                self._set(reader.uleb(), reader.uleb())
            case 13:
                register = reader.uleb()
                self._set(register, self.rule.offset if self.rule else 0)
            case 14:
                offset = reader.uleb()
                self._set(self.rule.register if self.rule else RSP, offset)
            case 15:
                reader.skip_block()
                self.rules[-1] = None
            case 16 | 22:
                reader.uleb()
                reader.skip_block()
            case 18:
                self._set(reader.uleb(), reader.sleb() * self.common.data_factor)
            case 19:
                offset = reader.sleb() * self.common.data_factor
                self._set(self.rule.register if self.rule else RSP, offset)
            case _ if code in _OFFSET_RULES or code in _TWO_ULEB:
                reader.uleb()
                reader.uleb()
            case _ if code in _ONE_ULEB:
                reader.uleb()
            case _ if code in _ULEB_SLEB:
                reader.uleb()
                reader.sleb()
            case _:
                raise ValueError(f"unknown call frame instruction {code}")
