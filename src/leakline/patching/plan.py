"""What a plan says: which instructions of a module become jumps, and where they lead."""

from collections import Counter
from dataclasses import dataclass, field

from iced_x86 import Decoder

from leakline.patching.code_pages import CodePage
from leakline.patching.placement import (
    JUMP_LENGTH,
    PAGE,
    SHORT_JUMP,
    SHORT_JUMP_LENGTH,
)
from leakline.patching.trampolines import Trampoline


@dataclass(frozen=True, slots=True)
class Patch:
    """One rewritten instruction.

    Attributes:
        address: Link-time address.
        page: Address of the trampoline's page.
        lost_page: And of the page with its part for losses.
        original: Bytes as in the file, as many as are replaced.
        replacement: What is written, at most the instruction's length.
        jump_at: Prefixes in the replacement before the jump.
        stores: How many stores its trampoline runs; 0 for a neighbour that only makes
            room.
    """

    address: int
    page: int
    lost_page: int
    original: bytes
    replacement: bytes
    jump_at: int
    stores: int

    @property
    def jump(self) -> tuple[int, int]:
        """Range of the jump to its trampoline, with the bytes of others in it.

        A short jump leads to it, into an instruction behind the rewritten one.
        """
        start = self.address + self.jump_at
        if self.replacement[self.jump_at] == SHORT_JUMP:
            start += SHORT_JUMP_LENGTH + self.replacement[self.jump_at + 1]
        return start, start + JUMP_LENGTH


@dataclass(slots=True)
class Plan:
    """Everything the runtime needs to patch one module.

    Attributes:
        build_id: Of the module.
        base: Address of the first page of the module's code.
        original: Whole pages of code, as in the file.
        code: The same after all patches so far.
        births: Its trampolines also look at what was stored.
        pages: Trampolines by page address.
        patches: Each depends only on those before it.
        moved: Ranges of code that run in trampolines instead.
        places: What stamps tell, and the address of the store it stands for.
        stores: Number of stores seen.
        left_out: Number of stores left alone, by reason.
    """

    build_id: bytes
    base: int
    original: bytes
    code: bytearray
    births: bool = False
    pages: dict[int, CodePage] = field(default_factory=dict)
    patches: list[Patch] = field(default_factory=list)
    moved: list[tuple[int, int]] = field(default_factory=list)
    places: list[tuple[int, int]] = field(default_factory=list)
    stores: int = 0
    left_out: Counter[str] = field(default_factory=Counter)

    def bytes_at(self, address: int, count: int) -> bytes:
        """Return the code at an address as it is now."""
        start = address - self.base
        return bytes(self.code[start : start + count])

    def original_at(self, address: int, count: int) -> bytes:
        """Return the code at an address as it is in the file."""
        start = address - self.base
        return self.original[start : start + count]

    def length_at(self, address: int, limit: int) -> int:
        """Return the length of the original instruction there; 0 for none."""
        if address >= limit:
            return 0
        decoder = Decoder(64, self.original_at(address, min(15, limit - address)))
        instruction = decoder.decode()
        return 0 if instruction.is_invalid else instruction.len

    def write(self, address: int, code: bytes) -> None:
        """Replace code at an address."""
        start = address - self.base
        self.code[start : start + len(code)] = code

    def add_trampoline(
        self, place: int, trampoline: Trampoline, lost_place: int
    ) -> None:
        """Put the two parts of a trampoline at their places."""
        self._add_code(place, trampoline.code)
        if trampoline.lost:
            self._add_code(lost_place, trampoline.lost)
        self.places += trampoline.places

    def _add_code(self, place: int, code: bytes) -> None:
        page = place & -PAGE
        self.pages.setdefault(page, CodePage()).add(place - page, code)
