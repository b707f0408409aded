"""What tells that code is entered: the jumps, their stubs, and the text with them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from leakline.patching.accesses.functions import Part, Unit
from leakline.patching.accesses.stubs import ENTRY_STUB_BYTES, entry_stub, jump_to
from leakline.patching.placement import JUMP_LENGTH, PAGE
from leakline.patching.source import Code

# Offset of the gate for entries in the page of gates.
ENTRY_GATE = 64


@dataclass(frozen=True, slots=True)
class Entries:
    """The functions that are armed when they are entered.

    Attributes:
        units: Those with sites, the eager ones first. Parts are numbered in their
            order, and every part has room for a stub, with an entry or without.
        stubs_at: Address of the stub of the first part.
        gate: Which the stubs call.
    """

    units: list[Unit]
    stubs_at: int
    gate: int

    @property
    def parts(self) -> Iterator[Part]:
        """The parts in the order of their numbers."""
        return (part for unit in self.units for part in unit.parts)

    def jumps(self) -> dict[int, bytes]:
        """Return the bytes of each entry by its address."""
        return {
            part.entry: jump_to(self._stub_at(number) - (part.entry + JUMP_LENGTH))
            for number, part in enumerate(self.parts)
            if part.entry is not None
        }

    def stubs(self) -> bytes:
        """Return the code of all stubs."""
        return b"".join(
            entry_stub(
                part.entry or part.start, number, self._stub_at(number), self.gate
            )
            for number, part in enumerate(self.parts)
        )

    def _stub_at(self, number: int) -> int:
        return self.stubs_at + number * ENTRY_STUB_BYTES


@dataclass(frozen=True, slots=True)
class EntryText:
    """Whole pages of code in which all entries are jumps, and no group is armed.

    Attributes:
        address: Of the first page.
        original: The pages as in the file.
        changed: The same pages.
    """

    address: int
    original: bytes
    changed: bytes


def entry_text(code: Code, entries: Entries, groups: Iterable[int]) -> EntryText | None:
    """Return the pages from the first group or entry to the last; None without any.

    Args:
        code: The pages of the module.
        entries: What is written there.
        groups: Addresses of the groups.
    """
    jumps = entries.jumps()
    starts = [*jumps, *groups]
    if not starts:
        return None
    first = min(starts) & -PAGE
    end = (max(starts) + JUMP_LENGTH - 1 & -PAGE) + PAGE
    original = code.content[first - code.base : end - code.base]
    changed = bytearray(original)
    for address, jump in jumps.items():
        changed[address - first : address - first + JUMP_LENGTH] = jump
    return EntryText(first, original, bytes(changed))
