"""Losses that instrumented code noted itself: the site says all there is to know."""

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from itertools import takewhile

from leakline.dynamic.stack_table import StackTable
from leakline.dynamic.stacks import StackBuilder
from leakline.model.finding import Cause, Loss
from leakline.model.stack import Frame, Naming, Stack
from leakline.recording._format import Node
from leakline.symbols.demangle import demangle
from leakline.symbols.dwarf_unit import DwarfUnits, open_units
from leakline.symbols.inlined_calls import inlined_starts
from leakline.symbols.resolve import Address, Module, debug_files, resolve
from leakline.symbols.sites import Site, SiteCause, read_site

_CAUSES = {
    SiteCause.OVERWRITTEN: Cause.OVERWRITTEN,
    SiteCause.OUT_OF_SCOPE: Cause.OUT_OF_SCOPE,
    SiteCause.NEVER_STORED: Cause.NEVER_STORED,
}


def site_frames(table: StackTable, used: Iterable[int]) -> dict[int, tuple[Frame, ...]]:
    """The frames of those used addresses that are sites, by their indexes."""
    marked = {call.address for call in table.calls if call.flags & Node.SITE}
    found = {
        index: (table.addresses[index], site)
        for index in marked.intersection(used)
        if (site := _site_at(table.addresses[index])) is not None
    }
    names = demangle(site.function for _, site in found.values())
    return {
        index: (_frame(site, address, names[site.function]),)
        for index, (address, site) in found.items()
    }


def loss_at_site(number: int, builder: StackBuilder) -> Loss | None:
    """The loss that the stack with this number ends in."""
    site = _site_of(number, builder)
    if site is None:
        return None
    stack = _stack(number, builder)
    name = site.variable or None
    return Loss(_CAUSES[site.cause], stack, name, variables_seen=True)


def birth_stack(number: int, builder: StackBuilder) -> Stack:
    """The stack of a store that created a reference, noted by the program or seen."""
    if _site_of(number, builder) is None:
        return builder.stack(number)
    return _stack(number, builder)


def birth_at_site(number: int, builder: StackBuilder) -> Stack | None:
    """Where the variable got the reference that it lost; None if it is not known."""
    site = _site_of(number, builder)
    if site is None or not site.birth_line:
        return None
    lost, *callers = _stack(number, builder).frames
    born = Frame(
        function=lost.function,
        file=lost.file,
        line=site.birth_line,
        module=lost.module,
        symbol=lost.symbol,
    )
    return Stack((born, *callers))


def _stack(number: int, builder: StackBuilder) -> Stack:
    """The site and its callers.

    The call stack was taken when the first loss in the same context was noted, maybe at
    another site of the same function. So its innermost frames are those of the function
    as a whole; what the compiler inlined into it is kept as far as it leads to the site.
    Otherwise the debug information may tell how the site's function came to be there;
    where it does not, lines are left out that may be those of another site.
    """
    whole = builder.stack(number)
    lost, *others = whole.frames
    helpers = sum(1 for _ in takewhile(_is_helper, others))
    inlined = sum(1 for _ in takewhile(lambda frame: frame.inlined, others[helpers:]))
    around = others[helpers : helpers + inlined + 1]
    names = [frame.function for frame in around]
    if lost.function in names:
        around = around[names.index(lost.function) + 1 :]
    else:
        around = _ways_in(number, helpers, builder) or [
            replace(frame, line=0, column=0) for frame in around[-1:]
        ]
    frames = (lost, *around, *others[helpers + inlined + 1 :])
    left_out = len(whole.frames) - len(frames)
    folded_at = whole.folded_at
    return replace(
        whole,
        frames=frames,
        folded_at=None if folded_at is None else max(folded_at - left_out, 1),
    )


def _ways_in(number: int, helpers: int, builder: StackBuilder) -> list[Frame]:
    """The calls that lead to the site's function where it is inlined, innermost first.

    Empty when the debug information does not tell, or there is more than one way.
    """
    site = _site_of(number, builder)
    callers = builder.table.path(number)[1:]
    if site is None or len(callers) <= helpers:
        return []
    module, offset = builder.table.addresses[callers[helpers].address]
    ways = _inlined_ways(module, offset, site.function)
    return list(ways[0]) if len(ways) == 1 else []


@lru_cache(maxsize=1024)
def _inlined_ways(module: Module, offset: int, symbol: str) -> list[tuple[Frame, ...]]:
    """The different ways in which a function is inlined in the one at an address."""
    units = _units(module)
    starts = inlined_starts(units, offset, symbol) if units is not None else []
    frames = resolve({module: starts}).frames.values()
    return list(dict.fromkeys(_callers_of(symbol, calls) for calls in frames))


@lru_cache(maxsize=4)
def _units(module: Module) -> DwarfUnits | None:
    if not module.build_id:
        return None  # nothing proves that the file is the one that ran
    return open_units(debug_files(module))


def _callers_of(symbol: str, calls: tuple[Frame, ...]) -> tuple[Frame, ...]:
    names = [frame.symbol or frame.function for frame in calls]
    place = names.index(symbol) if symbol in names else len(names)
    return tuple(replace(frame, offset=0) for frame in calls[place + 1 :])


def _is_helper(frame: Frame) -> bool:
    """Functions that `leakline cc` adds to a program."""
    return frame.function.startswith("leakline.")


def _site_of(number: int, builder: StackBuilder) -> Site | None:
    path = builder.table.path(number)
    if not path or not path[0].flags & Node.SITE:
        return None
    return _site_at(builder.table.addresses[path[0].address])


def _site_at(address: Address) -> Site | None:
    module, offset = address
    return read_site(module.path, module.build_id, offset)


def _frame(site: Site, address: Address, function: str) -> Frame:
    return Frame(
        function=function,
        file=site.file,
        line=site.line,
        module=address.module.path,
        offset=address.offset,
        naming=Naming.DEBUG_INFO,
        column=site.column,
        symbol=site.function if site.function != function else "",
    )
