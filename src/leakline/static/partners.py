"""The functions of a program that release what other functions of it hand out."""

from collections.abc import Mapping
from functools import cached_property

from leakline.static.engine.function import Checked
from leakline.static.engine.releases import is_argument, maker_of
from leakline.static.engine.summary import Allocation, Disjunct, Summary
from leakline.static.program import Program


class Releasers:
    """Tells by what the checker saw in the whole program how an object is released."""

    def __init__(self, program: Program, checked: Mapping[str, Checked]) -> None:
        self._program = program
        self._checked = checked

    def of(self, allocation: Allocation) -> str:
        """The function for objects of this kind; empty when it is not known.

        What the program does with other objects of the same maker decides, if it does
        the same with all of them; functions that release only sometimes do not count.
        If it releases none, a function of the maker's family of names that releases
        its argument is taken, if there is only one.
        """
        maker = maker_of(allocation)
        if not maker:
            return ""
        used = self._partners.get(maker)
        if used:
            return self._display(next(iter(used))) if len(used) == 1 else ""
        alike = self._releasing_like(self._display(maker))
        return alike[0] if len(alike) == 1 else ""

    @cached_property
    def _partners(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for checked in self._checked.values():
            for pair in checked.partners:
                if self._always_releases(pair.partner):
                    found.setdefault(pair.maker, set()).add(pair.partner)
        return found

    def _always_releases(self, name: str) -> bool:
        """Also true of functions of libraries, whose models say so."""
        known = self._checked.get(name)
        return known is None or _releases_argument(known.summary)

    def _releasing_like(self, maker: str) -> list[str]:
        family, separator, _ = maker.rpartition("_")
        if not separator:
            return []
        return [
            found.summary.display
            for found in self._checked.values()
            if found.summary.display.startswith(family + separator)
            and _releases_argument(found.summary)
        ]

    def _display(self, name: str) -> str:
        entry = self._program.functions.get(name)
        return name if entry is None else entry.function.display


def _releases_argument(summary: Summary) -> bool:
    """Whether every behaviour releases an argument, or was given a null pointer."""
    behaviours = summary.disjuncts
    return any(map(_releases, behaviours)) and all(
        _releases(one) or _is_for_null(one) for one in behaviours
    )


def _releases(behaviour: Disjunct) -> bool:
    return any(is_argument(item.value) for item in behaviour.frees)


def _is_for_null(behaviour: Disjunct) -> bool:
    return all(
        any(name[0] == "arg" and known[:2] == (0, 0) for name, known in conditions)
        for conditions in behaviour.alternatives
    )
