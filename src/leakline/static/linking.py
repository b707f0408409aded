"""Which units are linked together, and so which definition a name stands for.

A build makes several programs; their units are never thrown together, because names
such as `main` or `usage` are defined once in each. A *link unit* is one program or
shared library: the set of units whose symbols see each other.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from leakline.static.facts import Linkage, Unit

# A program that uses one of these runs code that is in none of its units.
LOADERS = frozenset({"dlopen", "dlsym", "dlvsym", "dlmopen", "g_module_symbol"})


@dataclass(frozen=True, slots=True)
class LinkUnit:
    """One program or library: its output's path and the numbers of its units.

    Attributes:
        closed: No code outside can call in or hand over functions, as in a program.
    """

    output: str
    units: frozenset[int]
    closed: bool


class Linker:
    """Resolves names of one unit to the unit that defines them."""

    def __init__(self, units: Sequence[Unit], links: Iterable[LinkUnit]) -> None:
        self._links = tuple(links) or (
            LinkUnit("", frozenset(range(len(units))), closed=False),
        )
        self._partners = _partners(len(units), self._links)
        self._open = _open_units(units, self._links)
        self._functions = _definitions(
            (number, name, function.linkage)
            for number, unit in enumerate(units)
            for name, function in unit.functions.items()
        )
        self._globals = _definitions(
            (number, name, variable.linkage)
            for number, unit in enumerate(units)
            for name, variable in unit.globals.items()
            if variable.defined
        )

    def function(self, unit: int, name: str) -> int | None:
        """Number of the unit whose definition a function name means in `unit`.

        None when nothing defines it, or when programs that share the unit define it
        differently, so that no one definition is right.
        """
        return self._resolve(self._functions.get(name, ()), unit)

    def variable(self, unit: int, name: str) -> int | None:
        """The same for a variable."""
        return self._resolve(self._globals.get(name, ()), unit)

    def partners(self, unit: int) -> frozenset[int]:
        """Units that are linked with this one into some program, itself included."""
        return self._partners[unit]

    def is_closed(self, unit: int) -> bool:
        """Whether every program the unit is part of is closed."""
        return unit not in self._open

    def _resolve(
        self, definitions: Sequence[tuple[int, Linkage]], unit: int
    ) -> int | None:
        visible = [entry for entry in definitions if entry[0] in self._partners[unit]]
        own = [number for number, _ in visible if number == unit]
        strong = [number for number, linkage in visible if linkage is Linkage.EXTERNAL]
        equal = [number for number, linkage in visible if linkage is Linkage.ONCE]
        if len(strong) == 1:
            return strong[0]
        if own:
            return unit
        if strong:
            return None
        return equal[0] if equal else (visible[0][0] if len(visible) == 1 else None)


def _open_units(units: Sequence[Unit], links: Sequence[LinkUnit]) -> frozenset[int]:
    """Units of programs that code from elsewhere can hand functions to."""
    is_open: set[int] = set()
    for link in links:
        loads_code = any(LOADERS & units[n].declarations.keys() for n in link.units)
        if loads_code or not link.closed:
            is_open |= link.units
    return frozenset(is_open)


def _partners(count: int, links: Sequence[LinkUnit]) -> list[frozenset[int]]:
    partners: list[set[int]] = [{number} for number in range(count)]
    for link in links:
        for number in link.units:
            partners[number] |= link.units
    return [frozenset(group) for group in partners]


def _definitions(
    symbols: Iterable[tuple[int, str, Linkage]],
) -> dict[str, list[tuple[int, Linkage]]]:
    """Units by the non-internal names they define."""
    found: dict[str, list[tuple[int, Linkage]]] = defaultdict(list)
    for number, name, linkage in symbols:
        if linkage is not Linkage.INTERNAL and linkage is not Linkage.AVAILABLE:
            found[name].append((number, linkage))
    return found
