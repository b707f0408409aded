"""Makes the plan of one program or library from its file."""

import zlib
from pathlib import Path

from leakline.patching.groups import Gatherer
from leakline.patching.placement import PAGE, Space
from leakline.patching.plan import Plan
from leakline.patching.planner import Planner
from leakline.patching.stores import find_stores
from leakline.symbols.elf import (
    SEGMENT_LOAD,
    ElfError,
    ElfFile,
    open_regular,
    read_elf,
)
from leakline.symbols.unwind_tables import read_functions

_EXECUTABLE = 1  # p_flags
_FIXED_ADDRESS = 2  # e_type of a program that is not position-independent
_LOWEST_FIXED = 0x10000  # below, the kernel maps nothing
_LOWEST_MOVABLE = -(1 << 40)


class PlanError(Exception):
    """A module cannot be planned; the message says why, without its name."""


def make_plan(path: Path, *, births: bool = False) -> Plan:
    """Return the plan of a module, on request one that notes births.

    Raises:
        PlanError: It has no build-id, no unwind tables, or is damaged.
    """
    try:
        elf = read_elf(path)
        if not elf.build_id:
            raise PlanError("it has no build-id")
        table = elf.section(".eh_frame")
        functions = list(read_functions(table, section_address(elf, ".eh_frame")))
        base, code = read_code(elf)
    except ElfError as error:
        raise PlanError(str(error)) from None
    except (IndexError, KeyError, ValueError):
        raise PlanError("its unwind tables cannot be read") from None
    census = find_stores(code, base, functions, births=births)
    stores = sorted(census.stores, key=lambda store: store.address)
    plan = Plan(elf.build_id, base, code, bytearray(code), births)
    plan.left_out = census.left_out
    plan.stores = len(stores) + sum(census.left_out.values())
    groups = Gatherer(code, base, census).groups(stores)
    Planner(plan, _space(elf)).place_all(groups)
    return plan


def read_code(elf: ElfFile) -> tuple[int, bytes]:
    """Return address and content of the pages that hold a module's code.

    The runtime picks the largest executable segment likewise.
    """
    segments = [
        s for s in elf.segments if s.kind == SEGMENT_LOAD and s.flags & _EXECUTABLE
    ]
    if not segments:
        raise PlanError("it has no code")
    segment = max(segments, key=lambda s: s.memory_size)
    lead = segment.address % PAGE
    pages = -(-(lead + segment.memory_size) // PAGE)
    with open_regular(elf.path) as file:
        file.seek(segment.offset - lead)
        content = file.read(pages * PAGE)
    return segment.address - lead, content.ljust(pages * PAGE, b"\0")


def section_address(elf: ElfFile, name: str) -> int:
    """Return the link-time address of a section."""
    section = elf.sections.get(name)
    if section is None:
        raise PlanError(f"it has no {name} section")
    for segment in elf.segments:
        inside = section.offset - segment.offset
        if segment.kind == SEGMENT_LOAD and 0 <= inside < segment.file_size:
            return segment.address + inside
    raise PlanError(f"its {name} section is not loaded")


def _space(elf: ElfFile) -> Space:
    loads = [s for s in elf.segments if s.kind == SEGMENT_LOAD]
    fixed = elf.kind == _FIXED_ADDRESS
    return Space(
        start=min(s.address for s in loads),
        end=max(s.address + s.memory_size for s in loads),
        lowest=_LOWEST_FIXED if fixed else _LOWEST_MOVABLE,
        spread=zlib.crc32(elf.build_id),
    )
