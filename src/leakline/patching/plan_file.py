"""Writes plans in the form the runtime maps (native/format/plan.md).

The patched text is kept as whole pages, to be mapped over the module's own.
"""

import zlib
from collections import Counter
from itertools import accumulate
from pathlib import Path
from struct import Struct

from leakline.patching.addresses import HEAP_TAG
from leakline.patching.code_pages import share_pages
from leakline.patching.placement import PAGE
from leakline.patching.plan import Patch, Plan

_MAGICS = {False: b"llplan13", True: b"llbrth14"}
# By whether births are noted. Plans of other versions lie beside ours undisturbed.
SUFFIXES = {False: ".plan13", True: ".births14"}
HEADER = Struct("<8s12I2Q32s")
RUN = Struct("<QII")
MAPPING = Struct("<qII")
PATCH = Struct("<IIIBBB13s")
SITE = Struct("<II")


def serialise(plan: Plan) -> bytes:
    """Return the bytes of the plan file."""
    shared, mappings = share_pages(plan.pages)
    index = {address: number for number, (address, _) in enumerate(mappings)}
    runs = _runs(plan)
    starts: list[bytes] = []
    images: list[bytes] = []
    originals: list[bytes] = []
    for first, count in runs:
        starts.append(
            RUN.pack(first, sum(len(image) for image in images) // PAGE, count)
        )
        images.append(plan.bytes_at(first, count * PAGE))
        originals.append(plan.original_at(first, count * PAGE))
    start_tables = b"".join(starts)
    stores = _stores_by_page(plan)
    start_tables += b"".join(
        MAPPING.pack(place, page, stores[place]) for place, page in mappings
    )
    patches = b"".join(
        PATCH.pack(
            patch.address,
            index[patch.page],
            index[patch.lost_page],
            len(patch.replacement),
            patch.jump_at,
            patch.stores,
            patch.original,
        )
        for patch in plan.patches
    )
    sites = sorted((place % (1 << 32), store) for place, store in plan.places)
    content = b"".join(images) + b"".join(bytes(page.code) for page in shared)
    content += start_tables + patches + b"".join(SITE.pack(*site) for site in sites)
    header = HEADER.pack(
        _MAGICS[plan.births],
        HEAP_TAG,
        len(plan.build_id),
        sum(count for _, count in runs),
        len(shared),
        len(runs),
        len(mappings),
        len(plan.patches),
        len(sites),
        plan.stores,
        sum(plan.left_out.values()),
        zlib.crc32(content),
        zlib.adler32(start_tables),
        *text_sum(b"".join(originals)),
        plan.build_id,
    )
    return header.ljust(PAGE, b"\0") + content


def _stores_by_page(plan: Plan) -> Counter[int]:
    """Return how many stores need each page of trampolines."""
    stores: Counter[int] = Counter()
    for patch in plan.patches:
        for page in {patch.page, patch.lost_page}:
            stores[page] += patch.stores
    return stores


def text_sum(content: bytes) -> tuple[int, int]:
    """Return the sum of all 8-byte words, and that of the sums after each word."""
    words = memoryview(content).cast("Q")
    return sum(words) & _WORD_MASK, sum(accumulate(words)) & _WORD_MASK


_WORD_MASK = (1 << 64) - 1


def _runs(plan: Plan) -> list[tuple[int, int]]:
    """Return address and count of the pages from the first patch to the last.

    One range, so that the text is either replaced or not.
    """
    if not plan.patches:
        return []
    first = min(patch.address for patch in plan.patches) & -PAGE
    last = max(patch.address + len(patch.replacement) - 1 for patch in plan.patches)
    return [(first, (last - first) // PAGE + 1)]


def changed_addresses(path: Path) -> set[int]:
    """Return the addresses of all bytes that patches or their jumps consist of.

    Raises:
        OSError: It cannot be read.
    """
    content = path.read_bytes()
    fields = HEADER.unpack_from(content)
    text_pages, code_pages, runs, mappings, patches = fields[3:8]
    start = PAGE * (1 + text_pages + code_pages)
    first, _, _ = RUN.unpack_from(content, start) if runs else (0, 0, 0)
    start += runs * RUN.size + mappings * MAPPING.size
    table = memoryview(content)[start : start + patches * PATCH.size]
    found: set[int] = set()
    for address, _, _, length, jump_at, stores, original in PATCH.iter_unpack(table):
        at = PAGE + address - first
        changed = content[at : at + length]
        patch = Patch(address, 0, 0, original, changed, jump_at, stores)
        found.update(range(address, address + length), range(*patch.jump))
    return found


def is_sound(path: Path, build_id: bytes, *, births: bool = False) -> bool:
    """Tell whether a file is a plan of this version for a module, and undamaged.

    Raises:
        OSError: It cannot be read.
    """
    content = path.read_bytes()
    if len(content) < PAGE:
        return False
    fields = HEADER.unpack_from(content)
    magic, tag, length = fields[:3]
    text_pages, code_pages, runs, mappings, patches, sites = fields[3:9]
    size = PAGE * (1 + text_pages + code_pages)
    size += runs * RUN.size + mappings * MAPPING.size
    size += patches * PATCH.size + sites * SITE.size
    return (
        (magic, tag, fields[-1][:length]) == (_MAGICS[births], HEAP_TAG, build_id)
        and len(content) == size
        and zlib.crc32(memoryview(content)[PAGE:]) == fields[11]
    )
