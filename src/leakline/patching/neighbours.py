"""The code around instructions that are patched: what can run with them elsewhere."""

from collections.abc import Container
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, TypeVar

from leakline.patching.eviction import Plain, evictable


class Located(Protocol):
    """An instruction of a module."""

    @property
    def address(self) -> int:
        """Where it is."""

    @property
    def code(self) -> bytes:
        """Its bytes."""


class Anchor(Located, Protocol):
    """An instruction that is patched, and what is known of the code around it."""

    @property
    def limit(self) -> int:
        """The end of its function."""

    @property
    def before(self) -> tuple[int, ...]:
        """Addresses of some instructions before it, the nearest first."""


StepT = TypeVar("StepT", bound=Located)


@dataclass(frozen=True, slots=True)
class Together(Generic[StepT]):
    """Neighbours that run in one place elsewhere.

    Attributes:
        steps: Instructions one after the other; the first one becomes a jump.
        lead: How many of the first steps may as well stay where they are.
    """

    steps: tuple[StepT, ...]
    lead: int

    @property
    def address(self) -> int:
        """Of the instruction that becomes a jump."""
        return self.steps[0].address

    @property
    def length(self) -> int:
        """The bytes of that instruction."""
        return len(self.steps[0].code)

    @property
    def end(self) -> int:
        """Behind its last step."""
        return self.steps[-1].address + len(self.steps[-1].code)


class Jumps(Protocol):
    """What is known of jumps within a module."""

    @property
    def targets(self) -> Container[int]:
        """Addresses that branches lead to."""

    @property
    def opaque(self) -> Container[int]:
        """The ends of functions with jumps to addresses that are computed."""


class Occupied(Protocol):
    """Code that is not there to be moved."""

    def is_free(self, start: int, end: int) -> bool:
        """Tell whether nobody else has a part of a range."""


class Gap(NamedTuple):
    """The most that may lie between two anchors that run together."""

    instructions: int
    bytes: int


class Neighbours:
    """Finds the instructions of one module that can run with an anchor."""

    def __init__(
        self, code: bytes, base: int, jumps: Jumps, occupied: Occupied | None = None
    ) -> None:
        self._code = code
        self._base = base
        self._jumps = jumps
        self._occupied = occupied

    def leading(self, anchor: Anchor, end: int) -> list[Plain]:
        """Return the instructions before an anchor, from `end` on, that can."""
        lead: list[Plain] = []
        following = anchor.address
        for address in anchor.before:
            if address < end or self._is_entered(following, anchor.limit):
                break
            instruction = self._movable(address, anchor.limit)
            if instruction is None or address + len(instruction.code) != following:
                break
            lead.insert(0, instruction)
            following = address
        return lead

    def between(
        self, anchor: Anchor, following: Anchor, most: Gap
    ) -> list[Plain] | None:
        """Return the instructions between two anchors if all can run in one place."""
        limit = anchor.limit
        address = anchor.address + len(anchor.code)
        if following.limit != limit or following.address - address > most.bytes:
            return None
        gap: list[Plain] = []
        while address < following.address and len(gap) < most.instructions:
            instruction = self._movable(address, limit)
            if instruction is None or self._is_entered(address, limit):
                return None
            gap.append(instruction)
            address += len(instruction.code)
        entered = self._is_entered(address, limit)
        return None if address != following.address or entered else gap

    def _is_entered(self, address: int, limit: int) -> bool:
        """Tell whether others may jump to an address in the function that ends there."""
        return address in self._jumps.targets or limit in self._jumps.opaque

    def _movable(self, address: int, limit: int) -> Plain | None:
        """Return the instruction at an address if it can run elsewhere."""
        instruction = evictable(self._code, self._base, address, limit)
        if instruction is None or self._occupied is None:
            return instruction
        end = address + len(instruction.code)
        return instruction if self._occupied.is_free(address, end) else None
