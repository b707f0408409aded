"""Finds room for trampolines.

An instruction of five bytes or more becomes a jump anywhere within 2 GiB. A shorter one
becomes a *pun*: the last bytes of the jump's distance are the bytes that follow the
instruction, so only a window of addresses can be reached, 16 MiB wide for an instruction
of four bytes, 64 KiB for three, 256 bytes for two and a single address for one.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain

PAGE = 4096
JUMP_LENGTH = 5

# Libraries lie close together and new mappings appear next to them, so trampolines keep
# away from their module by this much.
_CLEARANCE = 40 << 20
_REACH = (1 << 31) - (1 << 20)
# Trampolines of one plan gather behind multiples of these sizes, the largest first that
# a window surely contains, so that they need few pages.
_ANCHORS = (16 << 20, 64 << 10)
_TRIES = 4096
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
    _cursor: int = 0
    _resume: dict[int, int] = field(default_factory=dict)

    def take_anywhere(self, size_bytes: int) -> int | None:
        """Return room for a trampoline that any address near the module serves."""
        if self._cursor == 0:
            self._cursor = self._arena()
        page = self._cursor & -PAGE
        if self._cursor + size_bytes > page + PAGE:
            page += PAGE
            self._cursor = page
        if abs(page - self.start) > _REACH or abs(page - self.end) > _REACH:
            return None
        place = self._cursor
        self._cursor += size_bytes
        self._take(place, size_bytes)
        return place

    def take_used(self, first: int, last: int, size_bytes: int) -> int | None:
        """Return room between two addresses in a page that is used already."""
        if last - first >= _ANCHORS[0] - 1:
            return None
        for page in range(first & -PAGE, last + 1, PAGE):
            if page in self.taken:
                place = self._gap(page, max(first - page, 0), last - page, size_bytes)
                if place is not None:
                    self._take(place, size_bytes)
                    return place
        return None

    def take_window(self, first: int, last: int, size_bytes: int) -> int | None:
        """Return room for a trampoline that begins between two addresses."""
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
        if page not in self.taken:
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
        below = self.start - (1 << 30) - (self.spread & 255) * (2 << 20)
        if below > self.lowest:
            return below & -PAGE
        return (self.end + (256 << 20)) & -PAGE

    def _pages(self, first: int, last: int) -> Iterator[int]:
        anchor = self._anchor(first, last)
        resume = self._resume.get(anchor, anchor)
        upwards = range(resume, min(last + 1, resume + _TRIES * PAGE), PAGE)
        downwards = range(anchor - PAGE, (first & -PAGE) - 1, -PAGE)
        for page in chain(upwards, downwards[:_TRIES]):
            if self._is_free(page):
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
                    anchor += (self.spread >> 8 & 15) * (256 << 10)
                return anchor if anchor <= last else first & -PAGE
        return first & -PAGE

    def _is_free(self, page: int) -> bool:
        if page < self.lowest:
            return False
        near = self.start - _CLEARANCE < page < self.end + _CLEARANCE
        in_arena = self._arena() <= page < self._arena() + (32 << 20)
        return not near and not in_arena


def window(address: int, length: int, following: bytes) -> tuple[int, int]:
    """Return the first and last address that a pun at an instruction can reach.

    Args:
        address: Of the instruction.
        length: Its length, 1 to 4.
        following: The bytes behind it that complete the distance, 5 - length of them.
    """
    free_bits = 8 * (length - 1)
    high = int.from_bytes(following, "little")
    distance = high << free_bits
    if distance >= 1 << 31:
        distance -= 1 << 32
    first = address + JUMP_LENGTH + distance
    return first, first + (1 << free_bits) - 1
