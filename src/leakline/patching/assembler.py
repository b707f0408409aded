"""Writes machine code at a known address, with the operands of a module's stores."""

from dataclasses import dataclass, field, replace
from struct import pack

from leakline.patching.addresses import HOOK_TABLE
from leakline.patching.eviction import Plain, moved
from leakline.patching.operands import Operand, encode
from leakline.patching.stores import Store
from leakline.symbols.unwind_tables import RBP, RSP

RAX, RCX, _RSP, _RBP = 0, 1, 4, 5

# What a frame may keep below its stack pointer.
RED_ZONE = 128

_SHORT_JUMP = range(-128, 128)

# One instruction that a trampoline runs.
Step = Store | Plain


@dataclass(slots=True)
class Assembler:
    """Code being written.

    Attributes:
        address: Where it begins.
        code: Its bytes so far.
        places: What stamps tell of stores, and the store's address.
    """

    address: int
    code: bytearray = field(default_factory=bytearray)
    places: list[tuple[int, int]] = field(default_factory=list)

    @property
    def here(self) -> int:
        """Address of the next byte."""
        return self.address + len(self.code)

    def raw(self, text: str) -> None:
        """Append bytes written in hexadecimal."""
        self.code += bytes.fromhex(text)

    def memory(  # noqa: PLR0913 - as many parts as an instruction has
        self,
        opcode: str,
        register: int,
        operand: Operand,
        *,
        offset: int = 0,
        prefix: bytes = b"",
        wide: bool = False,
        tail: bytes = b"",
    ) -> None:
        """Append an instruction with a memory operand."""
        self.code += encode(
            bytes.fromhex(opcode),
            register,
            operand,
            at=self.here,
            offset=offset,
            prefix=prefix,
            wide=wide,
            tail=tail,
        )

    def absolute(self, opcode: str, register: int, address: int) -> None:
        """Append an instruction of 64 bits with an operand below 2 GiB."""
        self.memory(opcode, register, Operand(None, None, 0, address), wide=True)

    def move(self, step: Step) -> None:
        """Append an instruction of the module."""
        distance = step.address - self.here
        self.code += moved(step.code, step.displacement_at, distance)

    def jump(self, target: int) -> None:
        """Append a jump to an address."""
        self.raw("e900000000")
        self.lead(len(self.code), target)

    def lead(self, end_of_jump: int, target: int) -> None:
        """Let a jump, or a load of an address, that ends at an offset lead to one."""
        distance = target - (self.address + end_of_jump)
        if not -(1 << 31) <= distance < 1 << 31:
            raise OverflowError
        self.code[end_of_jump - 4 : end_of_jump] = pack("<i", distance)

    def jump_near(self, target: int) -> None:
        """Append a jump to an address in this code, as short as can be."""
        distance = target - (self.here + 2)
        if distance in _SHORT_JUMP:
            self.code += b"\xeb" + pack("<b", distance)
        else:
            self.jump(target)

    def land(self, end_of_short_jump: int) -> None:
        """Let a short jump forward that ends at an offset lead here."""
        distance = len(self.code) - end_of_short_jump
        if distance not in _SHORT_JUMP:
            raise OverflowError
        self.code[end_of_short_jump - 1] = distance

    def call(self, hook: int, store: Store) -> None:
        """Append the call of a hook on behalf of a store."""
        self.code += b"\xff\x14\x25" + pack("<i", HOOK_TABLE + 8 * hook)
        self.places.append((self.here, store.address))


def load_slot(assembler: Assembler, operand: Operand) -> None:
    """Append a load of the operand's address into rax."""
    assembler.memory("8d", RAX, replace(operand, segment=b""), wide=True)
    if operand.segment:
        assembler.raw("6448030425 00000000")  # add rax, fs:[0]


def load_return_address(
    assembler: Assembler, register: int, store: Store, pushed: int
) -> None:
    """Append a load of the frame's return address, or of 0 when it is unknown.

    Args:
        assembler: Appended to.
        register: Number of the one to load, 0 to 7.
        store: An instruction of the frame.
        pushed: By how many bytes the stack has grown since.
    """
    rule = store.caller
    if rule is not None and rule.register == RSP:
        place = Operand(_RSP, None, 0, pushed + rule.offset - 8)
    elif rule is not None and rule.register == RBP:
        place = Operand(_RBP, None, 0, rule.offset - 8)
    else:
        assembler.raw(f"{0xB8 + register:02x}{0:08x}")
        return
    assembler.memory("8b", register, place, wide=True)
