"""Finds room for stubs, at one place or at several that lie fixed distances apart.

An armed instruction whose neighbour can be armed too leads to different places as the
neighbour changes, so its stub is needed at each of them.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from leakline.patching.placement import PAGE

_CLEARANCE = 40 << 20
# Lens loss gathers its trampolines nearer, and those of libraries loaded later must find
# their pages free.
_BELOW = 1600 << 20
_WIDE = 1 << 24  # a window of this size is filled from one gathering place
_ARENA = 64 << 20
_TRIES = 512
_STAGGER = 208
_FULL = (1 << PAGE) - 1


@dataclass(slots=True)
class Room:
    """The free addresses around one module.

    Attributes:
        start: First address of the module.
        end: First address behind it.
        lowest: Nothing is placed below.
        spread: Moves the gathering places, so that modules loaded side by side seldom
            want the same pages.
        pages_left: New pages that may still be begun; a process has a limited number
            of mappings.
        taken: One bit per taken byte, by page.
    """

    start: int
    end: int
    lowest: int
    spread: int
    pages_left: int
    taken: dict[int, int] = field(default_factory=dict)
    _cursor: int = 0
    _resume: dict[int, int] = field(default_factory=dict)

    @property
    def arena(self) -> int:
        """Where stubs are gathered that may lie anywhere."""
        below = self.start - _BELOW - (self.spread & 127) * (1 << 20)
        if below - _ARENA > self.lowest:
            return below & -PAGE
        return (self.end + (700 << 20)) & -PAGE

    def take_block(self, size: int) -> int:
        """Return whole pages at the beginning of the arena."""
        self._cursor = (self.arena + size + PAGE - 1) & -PAGE
        return self.arena

    def take_anywhere(self, size: int) -> int | None:
        """Return room for a stub that any address near the module serves."""
        if self._cursor == 0:
            self._cursor = self.arena
        if self._cursor % PAGE + size > PAGE:
            self._cursor = (self._cursor & -PAGE) + PAGE
        if self._cursor + size > self.arena + _ARENA:
            return None
        place = self._cursor
        self._cursor += size
        self._take(place, size)
        return place

    def take_used(
        self, first: int, last: int, distances: Sequence[int], size: int
    ) -> int | None:
        """Return room between two addresses, with room at all distances from it.

        A window that is not wide has it only in pages that are used already.
        """
        if last < self.lowest:
            return None
        pages = self._pages(first, last)
        return self._take_in(pages, (first, last), distances, size)

    def take(
        self, first: int, last: int, distances: Sequence[int], size: int
    ) -> int | None:
        """Return room as `take_used` does, in a new page where need be."""
        if self.pages_left == 0 or last < self.lowest:
            return None
        pages = range(max(first, self.lowest) & -PAGE, last + 1, PAGE)[:_TRIES]
        fresh = (page for page in pages if page not in self.taken)
        return self._take_in(fresh, (first, last), distances, size)

    def _take_in(
        self,
        pages: Iterable[int],
        bounds: tuple[int, int],
        distances: Sequence[int],
        size: int,
    ) -> int | None:
        first, last = bounds
        for page in pages:
            fits = self._fits(page, size)
            low, high = max(first - page, 0), min(last - page, PAGE - 1)
            fits &= ((1 << (high + 1)) - 1) >> low << low
            for distance in distances:
                if not fits:
                    break
                fits &= self._fits_from(page + distance, size)
            if fits:
                return self._take_all(page, fits, distances, size)
        return None

    def _take_all(
        self, page: int, fits: int, distances: Sequence[int], size: int
    ) -> int | None:
        place = page + self._choose(page, fits)
        places = [place, *(place + distance for distance in distances)]
        fresh = {one & -PAGE for one in places if one & -PAGE not in self.taken}
        if len(fresh) > self.pages_left or _overlap(places, size):
            return None
        self.pages_left -= len(fresh)
        for one in places:
            self._take(one, size)
        return place

    def _choose(self, page: int, fits: int) -> int:
        """Return an offset that fits; new pages begin at different ones.

        Sparse pages that do not overlap share one page of the file.
        """
        if page not in self.taken:
            offset = len(self.taken) * _STAGGER % PAGE
            later = fits >> offset
            if later:
                return offset + (later & -later).bit_length() - 1
        return (fits & -fits).bit_length() - 1

    def _take(self, place: int, size: int) -> None:
        page = place & -PAGE
        bits = ((1 << size) - 1) << (place - page)
        self.taken[page] = self.taken.get(page, 0) | bits

    def _fits(self, page: int, size: int) -> int:
        """Return one bit per offset of a page where a stub can begin."""
        if not self._is_free(page):
            return 0
        fits = _FULL & ~self.taken.get(page, 0)
        run = 1
        while run < size:
            step = min(run, size - run)
            fits &= fits >> step
            run += step
        return fits

    def _fits_from(self, address: int, size: int) -> int:
        """Return one bit per address, from any address on, for the size of a page."""
        page = address & -PAGE
        both = self._fits(page, size) | self._fits(page + PAGE, size) << PAGE
        return both >> (address - page) & _FULL

    def _pages(self, first: int, last: int) -> Iterator[int]:
        if last - first >= _WIDE - 1:
            yield from self._gathered(first, last)
            return
        pages = range(first & -PAGE, last + 1, PAGE)
        yield from (page for page in pages if page in self.taken)

    def _gathered(self, first: int, last: int) -> Iterator[int]:
        """Yield the pages of a wide window from its gathering place on."""
        anchor = self._gathering_place(first, last)
        resume = self._resume.get(anchor, anchor)
        for page in range(resume, min(last + 1, resume + _TRIES * PAGE), PAGE):
            yield page
            if page == resume and not self._fits(page, 2 * _STAGGER // 4):
                resume += PAGE
                self._resume[anchor] = resume

    def _gathering_place(self, first: int, last: int) -> int:
        """Return a page that the windows of all sites contain with the same tail.

        A window lies as far behind the next one as their sites lie apart.
        """
        tail = (first - self.start) & -_WIDE
        place = tail + self.end + (self.spread >> 8 & 15) * (256 << 10)
        aligned = (place + PAGE - 1) & -PAGE
        return aligned if aligned <= last - PAGE else (first + PAGE - 1) & -PAGE

    def _is_free(self, page: int) -> bool:
        if page < self.lowest or page in self._gates():
            return False
        near = self.start - _CLEARANCE < page < self.end + _CLEARANCE
        return not near and not self.arena <= page < self.arena + _ARENA

    def _gates(self) -> tuple[int, int]:
        return self.gate_below, self.gate_above

    @property
    def gate_below(self) -> int:
        """Page of the gate for stubs below the module; 0 when there is none."""
        gate = (self.start - (1 << 30)) & -PAGE
        return gate if gate > self.lowest else 0

    @property
    def gate_above(self) -> int:
        """Page of the gate for the other stubs."""
        return (self.end + (1 << 30)) & -PAGE

    def gate_for(self, place: int) -> int:
        """Return the gate that a stub at a place can reach."""
        below = self.gate_below
        return below if below and place < self.start else self.gate_above


def _overlap(places: Sequence[int], size: int) -> bool:
    ordered = sorted(places)
    return any(b - a < size for a, b in pairwise(ordered))
