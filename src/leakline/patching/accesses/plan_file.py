"""Writes plans in the form the runtime maps (native/format/arm_plan.md)."""

import zlib
from pathlib import Path
from struct import Struct

from leakline.patching.accesses.plan import Arming, ArmPlan
from leakline.patching.code_pages import share_pages
from leakline.patching.placement import PAGE

MAGIC = b"llarm001"
HEADER = Struct("<8sIIIIIIIIIqq32s")
MAPPING = Struct("<qII")
SITE = Struct("<II8s5sBBBII")
STUB_PAGE = Struct("<I")


def serialise(plan: ArmPlan) -> bytes:
    """Return the bytes of the plan file; code begins at its second page."""
    shared, mappings = share_pages(plan.pages)
    index = {address: number for number, (address, _) in enumerate(mappings)}
    sites, stub_pages = bytearray(), bytearray()
    for arming in plan.armings:
        sites += _site(arming, len(stub_pages) // STUB_PAGE.size)
        for page in arming.pages:
            stub_pages += STUB_PAGE.pack(index[page])
    tables = b"".join(MAPPING.pack(address, page, 0) for address, page in mappings)
    tables += sites + stub_pages
    code = b"".join(bytes(page.code) for page in shared)
    header = HEADER.pack(
        MAGIC,
        len(plan.build_id),
        len(shared),
        len(mappings),
        len(plan.armings),
        len(stub_pages) // STUB_PAGE.size,
        plan.sites,
        sum(plan.left_out.values()),
        zlib.crc32(code),
        zlib.adler32(tables),
        *plan.gates,
        plan.build_id,
    )
    return header.ljust(PAGE, b"\0") + code + tables


def _site(arming: Arming, stub_pages_at: int) -> bytes:
    return SITE.pack(
        arming.address,
        arming.word_at,
        arming.original,
        arming.armed,
        len(arming.armed),
        len(arming.pages),
        0,
        stub_pages_at,
        0,
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
        mappings,
        sites,
        stub_pages,
        *_,
        crc,
        adler,
        _,
        _,
        identity,
    ) = HEADER.unpack_from(content)
    tables = PAGE * (1 + pages)
    sizes = mappings * MAPPING.size + sites * SITE.size + stub_pages * STUB_PAGE.size
    return (
        (magic, identity[:length]) == (MAGIC, build_id)
        and len(content) == tables + sizes
        and zlib.crc32(content[PAGE:tables]) == crc
        and zlib.adler32(content[tables:]) == adler
    )
