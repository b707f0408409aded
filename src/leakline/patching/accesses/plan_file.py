"""Writes plans in the form the runtime maps (native/format/arm_plan.md)."""

import zlib
from bisect import bisect_left
from itertools import accumulate
from pathlib import Path
from struct import Struct

from leakline.patching.accesses.entries import EntryText
from leakline.patching.accesses.plan import Arming, ArmPlan
from leakline.patching.code_pages import SharedPage, share_pages
from leakline.patching.placement import JUMP_LENGTH, PAGE
from leakline.patching.plan_file import text_sum

MAGIC = b"llarm005"
SUFFIX = ".arm5"
HEADER = Struct("<8s13I4x2q2Qqq32s")
MAPPING = Struct("<qII")
SITE = Struct("<IiIHH5sBBB")
STUB_PAGE = Struct("<I")
PART = Struct("<4IH5sB")


def serialise(plan: ArmPlan) -> bytes:
    """Return the bytes of the plan file; code begins at its second page."""
    shared, mappings = _backwards(*share_pages(plan.pages))
    index = {address: number for number, (address, _) in enumerate(mappings)}
    sites, stub_pages = bytearray(), bytearray()
    for arming in plan.armings:
        sites += _sites(arming, len(stub_pages) // STUB_PAGE.size)
        for page in arming.pages:
            stub_pages += STUB_PAGE.pack(index[page])
    tables = b"".join(MAPPING.pack(address, page, 0) for address, page in mappings)
    parts = _parts(plan)
    tables += sites + stub_pages + parts
    text = plan.text or EntryText(0, b"", b"")
    entry_stubs = plan.entries.stubs()
    entry_stubs += bytes(-len(entry_stubs) % PAGE)
    code = b"".join(bytes(page.code) for page in shared) + text.changed + entry_stubs
    header = HEADER.pack(
        MAGIC,
        len(plan.build_id),
        len(shared),
        len(text.changed) // PAGE,
        len(entry_stubs) // PAGE,
        len(mappings),
        len(sites) // SITE.size,
        len(stub_pages) // STUB_PAGE.size,
        len(parts) // PART.size,
        sum(len(unit.parts) for unit in plan.entries.units if unit.is_eager),
        plan.sites,
        sum(plan.left_out.values()),
        zlib.crc32(code),
        zlib.adler32(tables),
        *plan.gates,
        *text_sum(text.original),
        text.address,
        plan.entries.stubs_at,
        plan.build_id,
    )
    return header.ljust(PAGE, b"\0") + code + tables


def _backwards(
    shared: list[SharedPage], mappings: list[tuple[int, int]]
) -> tuple[list[SharedPage], list[tuple[int, int]]]:
    """Return pages in the opposite order.

    Where one mapping holds many pages the kernel brings in many around the one that is
    run. Pages whose order differs from that of their addresses are mapped one by one.
    """
    last = len(shared) - 1
    return shared[::-1], [(address, last - page) for address, page in mappings]


def _sites(arming: Arming, stub_pages_at: int) -> bytes:
    """Return the sites of a group: the first one tells how all are armed."""
    first, *others = arming.sites
    leader = SITE.pack(
        first,
        arming.distance,
        stub_pages_at,
        first - arming.address,
        arming.end - arming.address,
        arming.original,
        arming.armed_length,
        len(arming.pages),
        len(arming.sites),
    )
    return leader + b"".join(
        SITE.pack(address, 0, 0, 0, 0, b"", 0, 0, 0) for address in others
    )


def _parts(plan: ArmPlan) -> bytes:
    """Return the parts, each with the numbers of its first site and of its unit's."""
    starts = [arming.address for arming in plan.armings]
    numbers = [0, *accumulate(len(arming.sites) for arming in plan.armings)]
    original = plan.text or EntryText(0, b"", b"")
    rows = bytearray()
    for unit in plan.entries.units:
        first_of_unit = len(rows) // PART.size
        for part in unit.parts:
            first = numbers[bisect_left(starts, part.start)]
            end = numbers[bisect_left(starts, part.end)]
            entry = part.entry or part.start
            at = entry - original.address
            rows += PART.pack(
                entry,
                first,
                end - first,
                first_of_unit,
                len(unit.parts),
                original.original[at : at + JUMP_LENGTH] if part.entry else b"",
                part.entry is not None,
            )
    return bytes(rows)


def is_sound(path: Path, build_id: bytes) -> bool:
    """Tell whether a file is a plan of this version for a module, and undamaged.

    Raises:
        OSError: It cannot be read.
    """
    content = path.read_bytes()
    if len(content) < PAGE:
        return False
    (
        magic,
        length,
        pages,
        text_pages,
        entry_pages,
        mappings,
        sites,
        stub_pages,
        parts,
        _,
        _,
        _,
        crc,
        adler,
        *_,
        identity,
    ) = HEADER.unpack_from(content)
    tables = PAGE * (1 + pages + text_pages + entry_pages)
    sizes = mappings * MAPPING.size + sites * SITE.size + stub_pages * STUB_PAGE.size
    sizes += parts * PART.size
    return (
        (magic, identity[:length]) == (MAGIC, build_id)
        and len(content) == tables + sizes
        and zlib.crc32(content[PAGE:tables]) == crc
        and zlib.adler32(content[tables:]) == adler
    )
