"""Sparse pages of code, and how they share pages of a plan file.

Trampolines lie in many sparse pages. Pages whose code does not overlap share one page of
the file, which is then mapped at several addresses.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from leakline.patching.placement import PAGE

# Sharing looks at this many pages that still have room; more finds little more.
_OPEN_PAGES = 48


@dataclass(slots=True)
class CodePage:
    """The code of one page.

    Attributes:
        pieces: Offset and code of each.
        taken: One bit per byte that holds code.
    """

    pieces: list[tuple[int, bytes]] = field(default_factory=list)
    taken: int = 0

    def add(self, offset: int, code: bytes) -> None:
        """Put code at an offset."""
        self.pieces.append((offset, code))
        self.taken |= ((1 << len(code)) - 1) << offset


@dataclass(slots=True)
class SharedPage:
    """One page of the file, mapped at several addresses."""

    code: bytearray = field(default_factory=lambda: bytearray(b"\xcc" * PAGE))
    taken: int = 0

    def add(self, page: CodePage) -> None:
        """Merge a page whose code does not overlap ours."""
        for offset, code in page.pieces:
            self.code[offset : offset + len(code)] = code
        self.taken |= page.taken


def share_pages(
    pages: Mapping[int, CodePage],
) -> tuple[list[SharedPage], list[tuple[int, int]]]:
    """Return the file's pages, and which of them each address is mapped from."""
    shared: list[SharedPage] = []
    mappings = []
    open_pages: list[int] = []
    for address in sorted(pages):
        page = pages[address]
        number = next((n for n in open_pages if not shared[n].taken & page.taken), None)
        if number is None:
            number = len(shared)
            shared.append(SharedPage())
            open_pages = [*open_pages, number][-_OPEN_PAGES:]
        shared[number].add(page)
        mappings.append((address, number))
    return shared, mappings
