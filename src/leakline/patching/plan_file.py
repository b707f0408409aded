"""Writes plans in the form the runtime maps (native/format/plan.md).

Trampolines lie in thousands of sparse pages. Pages whose code does not overlap share one
page of the file, which is then mapped at several addresses.
"""

import zlib
from dataclasses import dataclass, field
from pathlib import Path
from struct import Struct

from leakline.patching.placement import PAGE
from leakline.patching.plan import Page, Plan
from leakline.patching.trampolines import HEAP_TAG

MAGIC = b"llplan02"
HEADER = Struct("<8sIIIIIIIII32s20x")
MAPPING = Struct("<qII")
PATCH = Struct("<QIBB16s16sBB")
_LOCK_PREFIX = 0xF0
# Sharing looks at this many pages that still have room; more finds little more.
_OPEN_PAGES = 48


@dataclass(slots=True)
class _Shared:
    """One page of the file."""

    code: bytearray = field(default_factory=lambda: bytearray(b"\xcc" * PAGE))
    taken: int = 0
    locks: list[int] = field(default_factory=list)

    def add(self, page: Page) -> None:
        """Merge a page whose code does not overlap ours."""
        for offset, code in page.pieces:
            self.code[offset : offset + len(code)] = code
        self.taken |= page.taken
        self.locks += page.locks


def serialise(plan: Plan) -> bytes:
    """Return the bytes of the plan file; code begins at its second page."""
    shared, mappings = _share(plan)
    index = {address: number for number, (address, _) in enumerate(mappings)}
    tables = b"".join(MAPPING.pack(address, page, 0) for address, page in mappings)
    tables += b"".join(
        PATCH.pack(
            patch.address,
            index[patch.page],
            len(patch.replacement),
            len(patch.original),
            patch.original,
            patch.replacement,
            patch.jump_at,
            patch.is_store,
        )
        for patch in plan.patches
    )
    code = b"".join(bytes(page.code) for page in shared)
    code += b"".join(_locked(page) for page in shared)
    header = HEADER.pack(
        MAGIC,
        HEAP_TAG,
        len(plan.build_id),
        len(shared),
        len(mappings),
        len(plan.patches),
        plan.stores,
        sum(plan.left_out.values()),
        zlib.crc32(code),
        zlib.adler32(tables),
        plan.build_id,
    )
    return header.ljust(PAGE, b"\0") + code + tables


def is_sound(path: Path, build_id: bytes) -> bool:
    """Tell whether a file is a plan of this version for a module, and undamaged.

    Raises:
        OSError: It cannot be read.
    """
    content = path.read_bytes()
    if len(content) < PAGE:
        return False
    magic, tag, length, pages, mappings, patches, *_, code_sum, tables_sum, identity = (
        HEADER.unpack_from(content)
    )
    tables = PAGE * (1 + 2 * pages)
    return (
        (magic, tag, identity[:length]) == (MAGIC, HEAP_TAG, build_id)
        and len(content) == tables + mappings * MAPPING.size + patches * PATCH.size
        and zlib.crc32(content[PAGE:tables]) == code_sum
        and zlib.adler32(content[tables:]) == tables_sum
    )


def _share(plan: Plan) -> tuple[list[_Shared], list[tuple[int, int]]]:
    """Return the file's pages, and which of them each address is mapped from."""
    shared: list[_Shared] = []
    mappings = []
    open_pages: list[int] = []
    for address in sorted(plan.pages):
        page = plan.pages[address]
        number = next((n for n in open_pages if not shared[n].taken & page.taken), None)
        if number is None:
            number = len(shared)
            shared.append(_Shared())
            open_pages = [*open_pages, number][-_OPEN_PAGES:]
        shared[number].add(page)
        mappings.append((address, number))
    return shared, mappings


def _locked(page: _Shared) -> bytes:
    code = bytearray(page.code)
    for offset in page.locks:
        code[offset] = _LOCK_PREFIX
    return bytes(code)
