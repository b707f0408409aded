"""Makes the arm plan of one program or library from its file."""

import zlib
from dataclasses import replace
from itertools import chain
from pathlib import Path

from leakline.patching.accesses.entries import entry_text
from leakline.patching.accesses.functions import UnitFinder
from leakline.patching.accesses.groups import Gatherer
from leakline.patching.accesses.plan import ArmPlan, ArmPlanner
from leakline.patching.accesses.room import Room
from leakline.patching.accesses.sites import Taken, find_sites
from leakline.patching.plan import Plan
from leakline.patching.source import Source, read_source

# Of the 65,530 mappings that a process may have.
_PAGES_MAX = 12_000


def make_arm_plan(path: Path, beside: Plan | None = None) -> ArmPlan:
    """Return the plan of a module, on request for code that is patched as well.

    Raises:
        PlanError: It has no build-id, no unwind tables, or is damaged.
    """
    source = read_source(path)
    text = source.section(".text")
    code, base = text.content, text.base
    census = find_sites(code, base, source.functions)
    taken = Taken(base, bytes(len(code)))
    present = code
    if beside is not None:
        taken = _taken_by(beside, base, len(code))
        present = beside.bytes_at(base, len(code))
        census.leave_out(taken)
    gathered = Gatherer(code, base, census, taken).groups()
    planner = ArmPlanner(present, base, _room(source), census.left_out)
    if beside is not None:
        return planner.plan(gathered, [], source.elf.build_id)
    units = UnitFinder(code, base, census).units()
    plan = planner.plan(gathered, units, source.elf.build_id)
    groups = (arming.address for arming in plan.armings)
    return replace(plan, text=entry_text(source.code_pages(), plan.entries, groups))


def _taken_by(plan: Plan, base: int, size: int) -> Taken:
    """Return what the patches of a plan change, rely on, or run elsewhere."""
    marks = bytearray(size)
    jumps = (patch.jump for patch in plan.patches)
    for start, end in chain(plan.moved, jumps):
        first, last = max(start - base, 0), min(end - base, size)
        marks[first:last] = b"\1" * max(last - first, 0)
    return Taken(base, bytes(marks))


def _room(source: Source) -> Room:
    return Room(
        start=source.start,
        end=source.end,
        lowest=source.lowest,
        # Other places than those of the module's other plan.
        spread=zlib.crc32(source.elf.build_id[::-1]),
        pages_left=_PAGES_MAX,
    )
