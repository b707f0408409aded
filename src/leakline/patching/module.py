"""Makes the plan of one program or library from its file."""

import zlib
from pathlib import Path

from leakline.patching.placement import Space
from leakline.patching.plan import Plan, Planner
from leakline.patching.stores import find_stores
from leakline.symbols.elf import SEGMENT_LOAD, ElfError, ElfFile, read_elf
from leakline.symbols.unwind_tables import read_functions

_FIXED_ADDRESS = 2  # e_type of a program that is not position-independent
_LOWEST_FIXED = 0x10000  # below, the kernel maps nothing
_LOWEST_MOVABLE = -(1 << 40)


class PlanError(Exception):
    """A module cannot be planned; the message says why, without its name."""


def make_plan(path: Path) -> Plan:
    """Return the plan of a module.

    Raises:
        PlanError: It has no build-id, no unwind tables, or is damaged.
    """
    try:
        elf = read_elf(path)
        if not elf.build_id:
            raise PlanError("it has no build-id")
        table = elf.section(".eh_frame")
        functions = list(read_functions(table, _address(elf, ".eh_frame")))
        code = elf.section(".text")
        base = _address(elf, ".text")
    except ElfError as error:
        raise PlanError(str(error)) from None
    except (IndexError, KeyError, ValueError):
        raise PlanError("its unwind tables cannot be read") from None
    census = find_stores(code, base, functions)
    stores = sorted(census.stores, key=lambda store: store.address)
    planner = Planner(code, base, _space(elf), census.left_out)
    return planner.plan(stores, elf.build_id)


def _address(elf: ElfFile, name: str) -> int:
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
