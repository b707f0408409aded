"""Gathers neighbouring instructions that share one trampoline.

A store needs no jump of its own where nobody jumps to it: the trampoline of what comes
before it can run it too. That saves jumps, and a longer instruction before a short store
is a better place for the jump.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from leakline.patching.assembler import Step
from leakline.patching.neighbours import Gap, Neighbours, Together
from leakline.patching.stores import Census, Store

# Few are longer, and each jump that is saved pays where a record is filled in.
_MOST_STORES = 6
# More code in a trampoline gains nothing.
_GAP = Gap(instructions=3, bytes=12)


@dataclass(frozen=True, slots=True)
class Group(Together[Step]):
    """Neighbours that one trampoline can run."""

    @property
    def stores(self) -> int:
        """How many stores it holds."""
        return sum(isinstance(step, Store) for step in self.steps)

    def without_lead(self, count: int) -> "Group":
        """Return what is left when some of the leading steps stay where they are."""
        return Group(self.steps[count:], self.lead - count)

    def alone(self) -> Iterator["Group"]:
        """Yield its stores, each as a group of its own."""
        for step in self.steps:
            if isinstance(step, Store):
                yield Group((step,), 0)


class Gatherer:
    """Forms the groups of one module."""

    def __init__(self, code: bytes, base: int, census: Census) -> None:
        self._neighbours = Neighbours(code, base, census)

    def groups(self, stores: list[Store]) -> list[Group]:
        """Return groups of stores in ascending order of address."""
        groups: list[Group] = []
        end = 0
        at = 0
        while at < len(stores):
            steps = self._following(stores, at)
            lead = self._neighbours.leading(stores[at], end)
            groups.append(Group((*lead, *steps), len(lead)))
            at += groups[-1].stores
            end = groups[-1].end
        return groups

    def _following(self, stores: list[Store], at: int) -> list[Step]:
        """Return a store and what can run with it up to the last store of its group."""
        steps: list[Step] = [stores[at]]
        for store, following in pairwise(stores[at : at + _MOST_STORES]):
            if store.always_calls or following.always_calls:
                break
            gap = self._neighbours.between(store, following, _GAP)
            if gap is None:
                break
            steps += [*gap, following]
        return steps
