"""Makes the plan for one module: which bytes arm each group, and where its stub lies."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from leakline.patching.accesses.entries import ENTRY_GATE, Entries, EntryText
from leakline.patching.accesses.functions import CACHE_LINE, Unit
from leakline.patching.accesses.groups import Group
from leakline.patching.accesses.room import Room
from leakline.patching.accesses.stubs import (
    ENTRY_STUB_BYTES,
    jump_to,
    stub,
    stub_size,
)
from leakline.patching.code_pages import CodePage
from leakline.patching.placement import JUMP_LENGTH, PAGE, window


@dataclass(frozen=True, slots=True)
class Arming:
    """How one group is armed and disarmed: by one write of eight bytes in a cache line.

    Attributes:
        address: Of the instruction that becomes a jump.
        end: Behind the last instruction that its stub runs.
        sites: Addresses of the sites whose touches the stub notes.
        original: The bytes of the jump, as in the file.
        distance: Of the jump, from its end.
        armed_length: How many of its bytes are written; the others are there.
        pages: Pages of its stubs.
    """

    address: int
    end: int
    sites: tuple[int, ...]
    original: bytes
    distance: int
    armed_length: int
    pages: tuple[int, ...]

    @property
    def armed(self) -> bytes:
        """The bytes that are written."""
        return jump_to(self.distance)[: self.armed_length]


@dataclass(frozen=True, slots=True)
class ArmPlan:
    """Everything the runtime needs to arm one module.

    Attributes:
        armings: In ascending order of address; sites are numbered in their order.
        gates: Pages for the two gates; 0 where there is none.
        sites: Number of sites seen.
        left_out: Number of sites that cannot be armed, by reason.
        entries: Functions that are armed when they are entered.
        text: To be mapped over the module's own; None where that is patched as well.
    """

    build_id: bytes
    pages: dict[int, CodePage]
    armings: list[Arming]
    gates: tuple[int, int]
    sites: int
    left_out: Counter[str]
    entries: Entries
    text: EntryText | None = None


# Takes room between two addresses, with room at all distances from it.
Take = Callable[[int, int, Sequence[int], int], int | None]


@dataclass(frozen=True, slots=True)
class _Placed:
    """A group, how many bytes arm it, and where its stubs lie."""

    group: Group
    written: int
    places: tuple[int, ...]

    @property
    def distance(self) -> int:
        """Of its jump."""
        return self.places[0] - (self.group.address + JUMP_LENGTH)

    @property
    def armed(self) -> bytes:
        """The bytes that arm it."""
        return jump_to(self.distance)[: self.written]


class ArmPlanner:
    """Places stubs from high addresses to low: what follows a jump is settled first."""

    def __init__(
        self, code: bytes, base: int, room: Room, left_out: Counter[str]
    ) -> None:
        self._code = code
        self._base = base
        self._room = room
        self._left_out = left_out
        self._placed: dict[int, _Placed] = {}
        self._entries: dict[int, bytes] = {}

    def plan(
        self, groups: Iterable[Group], units: Iterable[Unit], build_id: bytes
    ) -> ArmPlan:
        """Return the plan for groups in ascending order of address.

        Groups of code without a unit are armed from the start.
        """
        ascending = list(groups)
        entries = self._make_entries(units, [group.address for group in ascending])
        self._entries = entries.jumps()
        seen = sum(len(group.sites) for group in ascending)
        seen += sum(self._left_out.values())
        for group in reversed(ascending):
            self._place(group)
        pages: dict[int, CodePage] = {}
        armings = []
        number = 0
        for _, placed in sorted(self._placed.items()):
            self._write(placed, number, pages)
            armings.append(self._arming(placed))
            number += len(placed.group.sites)
        return ArmPlan(
            build_id,
            pages,
            armings,
            (self._room.gate_below, self._room.gate_above),
            seen,
            +self._left_out,
            entries,
        )

    def _make_entries(self, units: Iterable[Unit], groups: list[int]) -> Entries:
        """Return the entries of the units that have groups; they begin the arena."""
        kept = [unit for unit in units if _has_any(unit, groups)]
        count = sum(len(unit.parts) for unit in kept)
        at = self._room.take_block(count * ENTRY_STUB_BYTES)
        return Entries(kept, at, self._room.gate_for(at) + ENTRY_GATE)

    def _place(self, group: Group) -> None:
        """Place a group, or as many of its last sites as there is a way for."""
        rest: Group | None = group
        while rest is not None:
            placed = self._find_place(rest)
            if placed is not None:
                self._placed[placed.group.address] = placed
                return
            self._left_out["no room"] += 1
            rest = rest.behind_first_site()

    def _find_place(self, group: Group) -> _Placed | None:
        """Try where more bytes can be written first: their jumps lead further.

        Room in pages that are there already comes before new pages.
        """
        choices = sorted(group.choices(), key=_written, reverse=True)
        for take in (self._room.take_used, self._room.take):
            for choice in choices:
                try:
                    placed = self._placed_at(choice, take)
                except OverflowError:
                    continue
                if placed is not None:
                    return placed
        return None

    def _placed_at(self, group: Group, take: Take) -> _Placed | None:
        """Return where the stubs of a group can lie, if it begins with its first step.

        Raises:
            OverflowError: Something cannot be reached from there.
        """
        written = _written(group)
        address = group.address
        if address - self._base + JUMP_LENGTH > len(self._code):
            return None
        size = stub_size(group.steps)
        distances: tuple[int, ...] = ()
        if written == JUMP_LENGTH:
            place = self._room.take_anywhere(size)
        else:
            tails = list(self._tails(address, written))
            bounds = window(address, written, tails[0])
            distances = _distances(address, written, tails)
            place = take(*bounds, distances, size)
        if place is None:
            return None
        places = (place, *(place + one for one in distances))
        for one in places:
            stub(group.steps, 0, one, self._room.gate_for(one))
        return _Placed(group, written, places)

    def _tails(self, address: int, written: int) -> Iterator[bytes]:
        """Yield the bytes behind the written ones, in all states of the neighbours."""
        start = address - self._base
        original = self._code[start : start + JUMP_LENGTH]
        changes = [self._changes_at(address, i) for i in range(1, JUMP_LENGTH)]
        for states in product(*changes):
            code = bytearray(original)
            for offset, changed in enumerate(states, 1):
                code[offset : offset + len(changed)] = changed
            yield bytes(code[written:JUMP_LENGTH])

    def _changes_at(self, address: int, offset: int) -> list[bytes]:
        """Return what can be written behind an address, and nothing as one of it."""
        changes = [b""]
        if address + offset in self._placed:
            changes.append(self._placed[address + offset].armed)
        if address + offset in self._entries:
            changes.append(self._entries[address + offset])
        return changes

    def _write(self, placed: _Placed, number: int, pages: dict[int, CodePage]) -> None:
        for place in placed.places:
            code = stub(placed.group.steps, number, place, self._room.gate_for(place))
            page = pages.setdefault(place & -PAGE, CodePage())
            page.add(place % PAGE, code)

    def _arming(self, placed: _Placed) -> Arming:
        group = placed.group
        start = group.address - self._base
        return Arming(
            group.address,
            group.end,
            group.sites,
            self._code[start : start + JUMP_LENGTH],
            placed.distance,
            placed.written,
            tuple(dict.fromkeys(place & -PAGE for place in placed.places)),
        )


def _has_any(unit: Unit, addresses: list[int]) -> bool:
    """Tell whether one of some addresses, in ascending order, lies in a unit."""
    return any(
        bisect_left(addresses, part.start) < bisect_left(addresses, part.end)
        for part in unit.parts
    )


def _written(group: Group) -> int:
    """Return how many bytes of its first instruction can be written at once."""
    return min(group.length, JUMP_LENGTH, CACHE_LINE - group.address % CACHE_LINE)


def _distances(address: int, written: int, tails: list[bytes]) -> tuple[int, ...]:
    """Return how far from the first the places lie that other tails lead to."""
    firsts = [window(address, written, tail)[0] for tail in tails]
    others = dict.fromkeys(first - firsts[0] for first in firsts[1:])
    return tuple(distance for distance in others if distance)
