"""Where a function releases blocks, and by whom: what a change must agree with.

A *maker* is a function of the program that hands out blocks; its *partner* is the
function that blocks of this maker are given to in order to be released.
"""

from leakline.static.engine.context import Context
from leakline.static.engine.control import Flow
from leakline.static.engine.defects import OtherPaths, Partners
from leakline.static.engine.findings import Candidate
from leakline.static.engine.places import place_of
from leakline.static.engine.summary import Allocation, NamedValue
from leakline.static.engine.values import HEAP, Value
from leakline.static.instructions import Op

# Where a row of a block has its location.
LOCATION = 2


def note_release(ctx: Context, base: int) -> None:
    """An object of this function was released here."""
    if ctx.terms.kinds[base] == HEAP:
        site = ctx.terms.keys[base][1]
        ctx.released.setdefault(site, {})[ctx.here] = None


def note_partner(ctx: Context, value: Value, partner: str) -> None:
    """An object was given to a function that released it."""
    if isinstance(value, int) or ctx.terms.kinds[value[0]] != HEAP or value[1] != 0:
        return
    maker = maker_of(ctx.allocations[value[0]])
    if maker:
        ctx.partners[Partners(maker, partner)] = None


def maker_of(allocation: Allocation) -> str:
    """The function that handed the object out; empty for allocators of libraries."""
    places = allocation.places
    return places[-2].function if len(places) > 1 else ""


def is_argument(value: NamedValue) -> bool:
    """Whether a summary's value is an argument itself, not what it leads to."""
    return not isinstance(value, int) and value[0][0] == "arg" and value[1] == 0


def other_paths(ctx: Context, met: Candidate, allocation: Allocation) -> OtherPaths:
    """What the paths besides the one that was confirmed do."""
    if met.drop is None:
        return OtherPaths()
    lost = _blocks_at(ctx.flow, met.drop.location)
    made = _blocks_at(ctx.flow, allocation.places[-1].location)
    releases = ctx.released.get(ctx.terms.keys[met.base][1], {})
    return OtherPaths(
        on_every_path=bool(made) and not _avoids(ctx.flow, made, lost),
        released=tuple(
            place_of(ctx, location)
            for location in sorted(releases)
            if lost & _reached(ctx.flow, _blocks_at(ctx.flow, location))
        ),
    )


def _blocks_at(flow: Flow, location: int) -> frozenset[int]:
    """The blocks with an instruction of this location."""
    return frozenset(
        number
        for number, rows in enumerate(flow.blocks)
        if any(row[LOCATION] == location for row in rows)
    )


def _avoids(flow: Flow, start: frozenset[int], lost: frozenset[int]) -> bool:
    """Whether some way from the start leaves the function and not by these blocks."""
    if start & lost:
        return False
    return any(
        flow.blocks[block][-1][0] == Op.RETURN
        for block in _reached(flow, start, without=lost)
    )


def _reached(
    flow: Flow, start: frozenset[int], without: frozenset[int] = frozenset()
) -> set[int]:
    """The blocks that can follow, and those of the start."""
    seen = set(start)
    pending = list(start)
    while pending:
        for target in flow.successors[pending.pop()]:
            if target not in seen and target not in without:
                seen.add(target)
                pending.append(target)
    return seen
