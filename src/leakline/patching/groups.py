"""Gathers neighbouring instructions that share one trampoline.

A store needs no jump of its own where nobody jumps to it: the trampoline of what comes
before it can run it too. That saves jumps, and a longer instruction before a short store
is a better place for the jump.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from leakline.patching.eviction import Plain, evictable
from leakline.patching.stores import Census, Store
from leakline.patching.trampolines import Step

_MOST_STORES = 3
# Between two stores of a group; more code in a trampoline gains nothing.
_MOST_BETWEEN = 2
_LONGEST_GAP_BYTES = 12


@dataclass(frozen=True, slots=True)
class Group:
    """Neighbours that one trampoline can run.

    Attributes:
        steps: Instructions one after the other.
        lead: How many of the first steps may as well stay where they are.
    """

    steps: tuple[Step, ...]
    lead: int

    @property
    def address(self) -> int:
        """Where it begins."""
        return self.steps[0].address

    @property
    def length(self) -> int:
        """The bytes of its first step, which becomes a jump."""
        return len(self.steps[0].code)

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
        self._code = code
        self._base = base
        self._targets = census.targets
        self._opaque = census.opaque

    def groups(self, stores: list[Store]) -> list[Group]:
        """Return groups of stores in ascending order of address."""
        groups: list[Group] = []
        end = 0
        at = 0
        while at < len(stores):
            steps = self._following(stores, at)
            lead = self._leading(stores[at], end)
            groups.append(Group((*lead, *steps), len(lead)))
            at += sum(isinstance(step, Store) for step in steps)
            end = steps[-1].address + len(steps[-1].code)
        return groups

    def _is_entered(self, address: int, limit: int) -> bool:
        """Tell whether others may jump to an address in the function that ends there."""
        return address in self._targets or limit in self._opaque

    def _leading(self, store: Store, end: int) -> list[Plain]:
        """Return the instructions before a store that can run with it."""
        lead: list[Plain] = []
        following = store.address
        for address in store.before:
            if address < end or self._is_entered(following, store.limit):
                break
            instruction = evictable(self._code, self._base, address, store.limit)
            if instruction is None or address + len(instruction.code) != following:
                break
            lead.insert(0, instruction)
            following = address
        return lead

    def _following(self, stores: list[Store], at: int) -> list[Step]:
        """Return a store and what can run with it up to the last store of its group."""
        steps: list[Step] = [stores[at]]
        count = 1
        while count < _MOST_STORES and at + count < len(stores):
            gap = self._between(stores[at + count - 1], stores[at + count])
            if gap is None:
                break
            steps += [*gap, stores[at + count]]
            count += 1
        return steps

    def _between(self, store: Store, following: Store) -> list[Plain] | None:
        """Return the instructions between two stores if all can run in one place."""
        address = store.address + len(store.code)
        if (
            following.limit != store.limit
            or following.address - address > _LONGEST_GAP_BYTES
            or following.always_calls
            or store.always_calls
        ):
            return None
        gap: list[Plain] = []
        while address < following.address and len(gap) <= _MOST_BETWEEN:
            instruction = evictable(self._code, self._base, address, store.limit)
            if instruction is None or self._is_entered(address, store.limit):
                return None
            gap.append(instruction)
            address += len(instruction.code)
        entered = self._is_entered(address, store.limit)
        return None if address != following.address or entered else gap
