"""Finds room for trampolines.

An instruction of five bytes or more becomes a jump anywhere within 2 GiB. A shorter one
becomes a *pun*: the last bytes of the jump's distance are the bytes that follow the
instruction, so only a window of addresses can be reached, 16 MiB wide for an instruction
of four bytes, 64 KiB for three, 256 bytes for two and a single address for one.
"""

from bisect import bisect_left, insort
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain

PAGE = 4096
JUMP_LENGTH = 5
SHORT_JUMP = 0xEB
SHORT_JUMP_LENGTH = 2

# Libraries lie close together and new mappings appear next to them, so trampolines keep
# away from their module by this much.
_CLEARANCE = 40 << 20
_REACH = (1 << 31) - (1 << 20)
# Trampolines of one plan gather behind multiples of these sizes, the largest first that
# a window surely contains, so that they need few pages.
_ANCHORS = (16 << 20, 64 << 10)
_TRIES = 64
# What may lie anywhere is gathered in two arenas, one behind the other: trampolines, and
# their parts for losses.
_ARENA_BYTES = 32 << 20
_LOST_ARENA_BYTES = 96 << 20
_USED_TRIES = 256
_STAGGER = 208  # about two trampolines; all offsets come up before one comes again
_FULL = (1 << PAGE) - 1


@dataclass(slots=True)
class Space:
    """The room around one module.

    Attributes:
        start: First address of the module.
        end: First address behind it.
        lowest: Nothing is placed below; 0 for modules linked at fixed addresses.
        spread: Moves the gathering places, so that plans of different modules that
            are loaded side by side seldom want the same pages.
        taken: One bit per taken byte, by page.
    """

    start: int
    end: int
    lowest: int
    spread: int
    taken: dict[int, int] = field(default_factory=dict)
    _highest: int = 1 << 63
    _cursors: dict[int, int] = field(default_factory=dict)
    _sorted: list[int] = field(default_factory=list)
    _resume: dict[int, int] = field(default_factory=dict)

    @contextmanager
    def only_below(self) -> Iterator[None]:
        """Give out only windows below the module, where it has room there at all."""
        if self.lowest < 0:
            self._highest = self.start - 1
        yield
        self._highest = 1 << 63

    def take_anywhere(self, size_bytes: int) -> int | None:
        """Return room for a trampoline that any address near the module serves."""
        return self._take_next(self._arena(), size_bytes)

    def take_for_losses(self, size_bytes: int) -> int:
        """Return room for the part of a trampoline that runs when something is lost.

        Raises:
            OverflowError: There is none within reach of the module.
        """
        place = self._take_next(self._arena() + _ARENA_BYTES, size_bytes)
        if place is None:
            raise OverflowError
        return place

    def _take_next(self, arena: int, size_bytes: int) -> int | None:
        cursor = self._cursors.get(arena, arena)
        place = None
        while place is None:
            page = cursor & -PAGE
            if abs(page - self.start) > _REACH or abs(page - self.end) > _REACH:
                return None
            # Puns may have taken some of it.
            place = self._gap(page, cursor - page, PAGE - size_bytes, size_bytes)
            cursor = page + PAGE if place is None else place + size_bytes
        self._cursors[arena] = cursor
        self._take(place, size_bytes)
        return place

    def take_used(self, first: int, last: int, size_bytes: int) -> int | None:
        """Return room between two addresses in a page that is used already."""
        last = min(last, self._highest)
        pages = self._sorted
        at = bisect_left(pages, first & -PAGE)
        for page in pages[at : at + _USED_TRIES]:
            if page > last:
                return None
            place = self._gap(page, max(first - page, 0), last - page, size_bytes)
            if place is not None:
                self._take(place, size_bytes)
                return place
        return None

    def take_window(self, first: int, last: int, size_bytes: int) -> int | None:
        """Return room for a trampoline that begins between two addresses."""
        last = min(last, self._highest)
        for page in self._pages(first, last):
            place = self._gap(page, max(first - page, 0), last - page, size_bytes)
            if place is not None:
                self._take(place, size_bytes)
                return place
        return None

    def give_back(self, place: int, size_bytes: int) -> None:
        """Make room again that was taken."""
        page = place & -PAGE
        self.taken[page] &= ~(((1 << size_bytes) - 1) << (place - page))

    def _take(self, place: int, size_bytes: int) -> None:
        page = place & -PAGE
        if page not in self.taken:
            insort(self._sorted, page)
        bits = ((1 << size_bytes) - 1) << (place - page)
        self.taken[page] = self.taken.get(page, 0) | bits

    def _gap(self, page: int, low: int, high: int, size_bytes: int) -> int | None:
        """Return the first place of a page with room, from offset low to high."""
        fits = _FULL & ~self.taken.get(page, 0)
        run = 1
        while run < size_bytes:
            step = min(run, size_bytes - run)
            fits &= fits >> step
            run += step
        fits &= (1 << (min(high, PAGE - 1) + 1)) - 1
        if page not in self.taken and not self._is_arena(page):
            low = self._staggered(fits, low)
        fits >>= low
        return page + low + (fits & -fits).bit_length() - 1 if fits else None

    def _staggered(self, fits: int, low: int) -> int:
        """Return where to begin in a new page.

        Sparse pages that do not overlap share one page of the file.
        """
        offset = len(self.taken) * _STAGGER % PAGE
        return offset if offset > low and fits >> offset else low

    def _arena(self) -> int:
        below = self.start - (512 << 20) - (self.spread & 0x3FFF) * (64 << 10)
        if below > self.lowest:
            return below & -PAGE
        return (self.end + (256 << 20)) & -PAGE

    def _is_arena(self, page: int) -> bool:
        return 0 <= page - self._arena() < _ARENA_BYTES + _LOST_ARENA_BYTES

    def _pages(self, first: int, last: int) -> Iterator[int]:
        for low, high in self._free_parts(first, last):
            yield from self._pages_between(low, high)

    def _free_parts(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Yield the parts of a range that are not kept free of trampolines."""
        arena = self._arena()
        kept = [
            (self.start - _CLEARANCE, self.end + _CLEARANCE),
            (arena, arena + _ARENA_BYTES + _LOST_ARENA_BYTES),
        ]
        first = max(first, self.lowest)
        for low, high in sorted(kept):
            if first < low:
                yield first, min(last, low - 1)
            first = max(first, high)
            if first > last:
                return
        if first <= last:
            yield first, last

    def _pages_between(self, first: int, last: int) -> Iterator[int]:
        if first > last:
            return
        anchor = self._anchor(first, last)
        resume = self._resume.get(anchor, anchor)
        upwards = range(resume, min(last + 1, resume + _TRIES * PAGE), PAGE)
        downwards = range(anchor - PAGE, (first & -PAGE) - 1, -PAGE)
        for page in chain(upwards, downwards[:_TRIES]):
            yield page
            if page == resume:
                # It had no room for this one: the next look begins behind it.
                resume += PAGE
                self._resume[anchor] = resume

    def _anchor(self, first: int, last: int) -> int:
        for size in _ANCHORS:
            if last - first >= size - 1:
                anchor = (first + size - 1) & -size
                if size == _ANCHORS[0]:
                    anchor += (self.spread >> 16 & 15) * (256 << 10)
                return anchor if anchor <= last else first & -PAGE
        return first & -PAGE


def window(address: int, length: int, following: bytes) -> tuple[int, int]:
    """Return the first and last address that a pun at an instruction can reach.

    Args:
        address: Of the instruction.
        length: Its length, 1 to 5.
        following: The bytes behind it that complete the distance, 5 - length of them.
    """
    if length == JUMP_LENGTH:
        return address - _REACH, address + _REACH
    free_bits = 8 * (length - 1)
    high = int.from_bytes(following, "little")
    distance = high << free_bits
    if distance >= 1 << 31:
        distance -= 1 << 32
    first = address + JUMP_LENGTH + distance
    return first, first + (1 << free_bits) - 1
