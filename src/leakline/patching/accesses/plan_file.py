"""Writes plans in the form the runtime maps (native/format/arm_plan.md)."""

import zlib
from pathlib import Path
from struct import Struct

from leakline.patching.accesses.plan import ArmedText, Arming, ArmPlan
from leakline.patching.code_pages import SharedPage, share_pages
from leakline.patching.placement import PAGE
from leakline.patching.plan_file import text_sum

MAGIC = b"llarm004"
SUFFIX = ".arm4"
HEADER = Struct("<8s10I2q2Qq32s")
MAPPING = Struct("<qII")
SITE = Struct("<IiIHH5sBBB")
STUB_PAGE = Struct("<I")


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
    tables += sites + stub_pages
    text = plan.text or ArmedText(0, b"", b"")
    code = b"".join(bytes(page.code) for page in shared) + text.armed
    header = HEADER.pack(
        MAGIC,
        len(plan.build_id),
        len(shared),
        len(text.armed) // PAGE,
        len(mappings),
        len(sites) // SITE.size,
        len(stub_pages) // STUB_PAGE.size,
        plan.sites,
        sum(plan.left_out.values()),
        zlib.crc32(code),
        zlib.adler32(tables),
        *plan.gates,
        *text_sum(text.original),
        text.address,
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
        mappings,
        sites,
        stub_pages,
        _,
        _,
        crc,
        adler,
        *_,
        identity,
    ) = HEADER.unpack_from(content)
    tables = PAGE * (1 + pages + text_pages)
    sizes = mappings * MAPPING.size + sites * SITE.size + stub_pages * STUB_PAGE.size
    return (
        (magic, identity[:length]) == (MAGIC, build_id)
        and len(content) == tables + sizes
        and zlib.crc32(content[PAGE:tables]) == crc
        and zlib.adler32(content[tables:]) == adler
    )
