"""Makes the arm plan of one program or library from its file."""

import zlib
from itertools import chain
from pathlib import Path

from leakline.patching.accesses.groups import Gatherer
from leakline.patching.accesses.plan import ArmPlan, ArmPlanner
from leakline.patching.accesses.room import Room
from leakline.patching.accesses.sites import Taken, find_sites
from leakline.patching.module import PlanError, section_address
from leakline.patching.placement import JUMP_LENGTH
from leakline.patching.plan import Plan
from leakline.symbols.elf import SEGMENT_LOAD, ElfError, ElfFile, read_elf
from leakline.symbols.unwind_tables import read_functions

_FIXED_ADDRESS = 2  # e_type of a program that is not position-independent
_LOWEST_FIXED = 0x10000  # below, the kernel maps nothing
_LOWEST_MOVABLE = -(1 << 40)
# Of the 65,530 mappings that a process may have.
_PAGES_MAX = 12_000


def make_arm_plan(path: Path, beside: Plan | None = None) -> ArmPlan:
    """Return the plan of a module, on request for code that is patched as well.

    Raises:
        PlanError: It has no build-id, no unwind tables, or is damaged.
    """
    try:
        elf = read_elf(path)
        if not elf.build_id:
            raise PlanError("it has no build-id")
        table = elf.section(".eh_frame")
        functions = list(read_functions(table, section_address(elf, ".eh_frame")))
        code = elf.section(".text")
        base = section_address(elf, ".text")
    except ElfError as error:
        raise PlanError(str(error)) from None
    except (IndexError, KeyError, ValueError):
        raise PlanError("its unwind tables cannot be read") from None
    census = find_sites(code, base, functions)
    taken = Taken(base, bytes(len(code)))
    present = code
    if beside is not None:
        taken = _taken_by(beside, base, len(code))
        present = beside.bytes_at(base, len(code))
        census.leave_out(taken)
    groups = Gatherer(code, base, census, taken).groups()
    planner = ArmPlanner(present, base, _room(elf), census.left_out)
    return planner.plan(groups, elf.build_id)


def _taken_by(plan: Plan, base: int, size: int) -> Taken:
    """Return what the patches of a plan change, rely on, or run elsewhere."""
    marks = bytearray(size)
    jumps = (
        (patch.address, patch.address + patch.jump_at + JUMP_LENGTH)
        for patch in plan.patches
    )
    for start, end in chain(plan.moved, jumps):
        first, last = max(start - base, 0), min(end - base, size)
        marks[first:last] = b"\1" * max(last - first, 0)
    return Taken(base, bytes(marks))


def _room(elf: ElfFile) -> Room:
    loads = [s for s in elf.segments if s.kind == SEGMENT_LOAD]
    fixed = elf.kind == _FIXED_ADDRESS
    return Room(
        start=min(s.address for s in loads),
        end=max(s.address + s.memory_size for s in loads),
        lowest=_LOWEST_FIXED if fixed else _LOWEST_MOVABLE,
        # Other places than those of the module's other plan.
        spread=zlib.crc32(elf.build_id[::-1]),
        pages_left=_PAGES_MAX,
    )
