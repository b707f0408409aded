"""Makes the plan for one module: which bytes arm each site, and where its stubs lie."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from struct import pack

from leakline.patching.accesses.room import Room
from leakline.patching.accesses.sites import Site
from leakline.patching.accesses.stubs import stub, stub_size
from leakline.patching.code_pages import CodePage
from leakline.patching.placement import JUMP_LENGTH, PAGE, window

# Within a cache line other processors see a write as a whole.
CACHE_LINE = 64
WORD = 8
_NEIGHBOURS_MAX = 3


@dataclass(frozen=True, slots=True)
class Arming:
    """How one site is armed and disarmed: by one write of eight bytes in a cache line.

    Attributes:
        address: Of the instruction.
        word_at: Of the eight bytes.
        original: The eight bytes as in the file.
        armed: The instruction's first bytes when it is armed.
        pages: Pages of its stubs.
    """

    address: int
    word_at: int
    original: bytes
    armed: bytes
    pages: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ArmPlan:
    """Everything the runtime needs to arm one module.

    Attributes:
        armings: In ascending order of address; a site's number is its place here.
        gates: Pages for the two gates; 0 where there is none.
        sites: Number of sites seen.
        left_out: Number of sites that cannot be armed, by reason.
    """

    build_id: bytes
    pages: dict[int, CodePage]
    armings: list[Arming]
    gates: tuple[int, int]
    sites: int
    left_out: Counter[str]


class ArmPlanner:
    """Places stubs from high addresses to low: what follows a site is settled first."""

    def __init__(
        self, code: bytes, base: int, room: Room, left_out: Counter[str]
    ) -> None:
        self._code = code
        self._base = base
        self._room = room
        self._left_out = left_out
        self._armed: dict[int, bytes] = {}
        self._places: dict[int, list[int]] = {}

    def plan(self, sites: Iterable[Site], build_id: bytes) -> ArmPlan:
        """Return the plan for sites in ascending order of address."""
        ascending = list(sites)
        seen = len(ascending) + sum(self._left_out.values())
        for site in reversed(ascending):
            self._place(site)
        armable = [site for site in ascending if site.address in self._armed]
        pages: dict[int, CodePage] = {}
        for number, site in enumerate(armable):
            self._write(site, number, pages)
        return ArmPlan(
            build_id,
            pages,
            [self._arming(site) for site in armable],
            (self._room.gate_below, self._room.gate_above),
            seen,
            +self._left_out,
        )

    def _place(self, site: Site) -> None:
        written = min(
            len(site.code), JUMP_LENGTH, CACHE_LINE - site.address % CACHE_LINE
        )
        size = stub_size(site)
        start = site.address - self._base
        if start + JUMP_LENGTH > len(self._code):
            self._left_out["end of the code"] += 1
            return
        distances: tuple[int, ...] = ()
        if written == JUMP_LENGTH:
            place = self._room.take_anywhere(size)
        else:
            tails = list(self._tails(site.address, written))
            bounds = window(site.address, written, tails[0])
            distances = _distances(site.address, written, tails)
            place = self._room.take(*bounds, distances, size)
        if place is None:
            self._left_out["not closable" if distances else "no room"] += 1
            return
        jump = b"\xe9" + pack("<i", place - (site.address + JUMP_LENGTH))
        self._armed[site.address] = jump[:written]
        self._places[site.address] = [place, *(place + one for one in distances)]

    def _tails(self, address: int, written: int) -> Iterator[bytes]:
        """Yield the bytes behind the written ones, in all states of the neighbours."""
        start = address - self._base
        original = self._code[start : start + JUMP_LENGTH]
        neighbours = [
            (offset, self._armed[address + offset])
            for offset in range(1, JUMP_LENGTH)
            if address + offset in self._armed
        ]
        for states in product((False, True), repeat=len(neighbours)):
            code = bytearray(original)
            for (offset, armed), is_armed in zip(neighbours, states, strict=True):
                if is_armed:
                    code[offset : offset + len(armed)] = armed
            yield bytes(code[written:JUMP_LENGTH])

    def _write(self, site: Site, number: int, pages: dict[int, CodePage]) -> None:
        for place in self._places[site.address]:
            code = stub(site, number, place, self._room.gate_for(place))
            page = pages.setdefault(place & -PAGE, CodePage())
            page.add(place % PAGE, code)

    def _arming(self, site: Site) -> Arming:
        line = site.address & -CACHE_LINE
        word_at = min(site.address, line + CACHE_LINE - WORD)
        start = word_at - self._base
        places = self._places[site.address]
        return Arming(
            site.address,
            word_at,
            self._code[max(start, 0) : start + WORD].rjust(WORD, b"\0"),
            self._armed[site.address],
            tuple(dict.fromkeys(place & -PAGE for place in places)),
        )


def _distances(address: int, written: int, tails: list[bytes]) -> tuple[int, ...]:
    """Return how far from the first the places lie that other tails lead to."""
    firsts = [window(address, written, tail)[0] for tail in tails]
    others = dict.fromkeys(first - firsts[0] for first in firsts[1:])
    return tuple(distance for distance in others if distance)
