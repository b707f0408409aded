"""Makes the plan of one program or library from its file."""

import zlib
from dataclasses import replace
from pathlib import Path

from leakline.patching.groups import Gatherer
from leakline.patching.placement import Space
from leakline.patching.plan import Plan
from leakline.patching.planner import Planner
from leakline.patching.source import Source, read_source
from leakline.patching.stores import find_stores

# In a module with so few stores, trampolines that stamp without a hook are worth their
# size. In larger ones the processor's caches would hold less of the code that runs: they
# gain no time, and need more memory.
_FEW_STORES = 4096


# They store registers for a later jump. What they overwrite are copies of what variables
# held at an earlier one, so nothing is lost there.
_SAVING_REGISTERS = frozenset(
    {"__sigsetjmp", "_setjmp", "setjmp", "getcontext", "makecontext", "swapcontext"}
)


def make_plan(path: Path, *, births: bool = False) -> Plan:
    """Return the plan of a module, on request one that notes births.

    Raises:
        PlanError: It has no build-id, no unwind tables, or is damaged.
    """
    source = read_source(path)
    code = source.code_pages()
    functions = source.functions_but(_SAVING_REGISTERS)
    census = find_stores(code.content, code.base, functions, births=births)
    stores = sorted(census.stores, key=lambda store: store.address)
    if len(stores) <= _FEW_STORES:
        stores = [replace(store, stamps_itself=True) for store in stores]
    build_id = source.elf.build_id
    plan = Plan(build_id, code.base, code.content, bytearray(code.content), births)
    plan.left_out = census.left_out
    plan.stores = len(stores) + sum(census.left_out.values())
    groups = Gatherer(code.content, code.base, census).groups(stores)
    Planner(plan, _space(source)).place_all(groups)
    return plan


def _space(source: Source) -> Space:
    return Space(
        start=source.start,
        end=source.end,
        lowest=source.lowest,
        spread=zlib.crc32(source.elf.build_id),
    )
