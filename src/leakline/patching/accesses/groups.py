"""Gathers neighbouring sites that are armed together, by one jump.

Where nobody jumps to a site, the stub of what runs before it can run it too. That saves
jumps and stubs; and an instruction before a short site may be long enough for a jump
that leads anywhere, so that the stub needs no page of its own.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from leakline.patching.accesses.sites import Census, Flow, Site, Taken
from leakline.patching.accesses.stubs import Step
from leakline.patching.eviction import Plain, evictable

_MOST_SITES = 6
# Between two sites of a group; more code in a stub gains nothing.
_MOST_BETWEEN = 4
_LONGEST_GAP_BYTES = 24


@dataclass(frozen=True, slots=True)
class Group:
    """Neighbours that one stub runs.

    Attributes:
        steps: Instructions one after the other; the last one is a site.
        lead: How many of the first steps may as well stay where they are.
    """

    steps: tuple[Step, ...]
    lead: int

    @property
    def address(self) -> int:
        """Of the instruction that becomes a jump."""
        return self.steps[0].address

    @property
    def length(self) -> int:
        """The bytes of that instruction."""
        return len(self.steps[0].code)

    @property
    def end(self) -> int:
        """Behind its last step."""
        return self.steps[-1].address + len(self.steps[-1].code)

    @property
    def sites(self) -> tuple[int, ...]:
        """The addresses of its sites."""
        return tuple(step.address for step in self.steps if isinstance(step, Site))

    def choices(self) -> Iterator["Group"]:
        """Yield the ways to begin: at its first site, then ever further before it."""
        for count in range(self.lead, -1, -1):
            yield Group(self.steps[count:], self.lead - count)

    def behind_first_site(self) -> "Group | None":
        """Return what is left without the first site; None when that is nothing."""
        steps = self.steps[self.lead + 1 :]
        if not steps:
            return None
        lead = next(i for i, step in enumerate(steps) if isinstance(step, Site))
        return Group(steps, lead)


class Gatherer:
    """Forms the groups of one module."""

    def __init__(self, code: bytes, base: int, census: Census, taken: Taken) -> None:
        self._code = code
        self._base = base
        self._census = census
        self._taken = taken

    def groups(self) -> Iterator[Group]:
        """Yield groups in ascending order of address."""
        sites = self._census.sites
        end = at = 0
        while at < len(sites):
            steps, count = self._following(sites, at)
            lead = self._leading(sites[at], end)
            group = Group((*lead, *steps), len(lead))
            at += count
            end = group.end
            yield group

    def _is_entered(self, address: int, limit: int) -> bool:
        """Tell whether others may jump to an address in the function that ends there."""
        return address in self._census.targets or limit in self._census.opaque

    def _movable(self, address: int, limit: int) -> Plain | None:
        """Return the instruction at an address if a stub can run it."""
        instruction = evictable(self._code, self._base, address, limit)
        if instruction is None:
            return None
        end = address + len(instruction.code)
        return instruction if self._taken.is_free(address, end) else None

    def _leading(self, site: Site, end: int) -> list[Plain]:
        """Return the instructions before a site that can run with it."""
        lead: list[Plain] = []
        following = site.address
        for address in site.before:
            if address < end or self._is_entered(following, site.limit):
                break
            instruction = self._movable(address, site.limit)
            if instruction is None or address + len(instruction.code) != following:
                break
            lead.insert(0, instruction)
            following = address
        return lead

    def _following(self, sites: list[Site], at: int) -> tuple[list[Step], int]:
        """Return a site and what can run with it, and how many sites these are."""
        steps: list[Step] = [sites[at]]
        count = 1
        while count < _MOST_SITES and at + count < len(sites):
            gap = self._between(sites[at + count - 1], sites[at + count])
            if gap is None:
                break
            steps += [*gap, sites[at + count]]
            count += 1
        return steps, count

    def _between(self, site: Site, following: Site) -> list[Plain] | None:
        """Return the instructions between two sites if all can run in one place."""
        address = site.address + len(site.code)
        if (
            site.flow is not Flow.NEXT
            or following.limit != site.limit
            or following.address - address > _LONGEST_GAP_BYTES
        ):
            return None
        gap: list[Plain] = []
        while address < following.address:
            instruction = self._movable(address, site.limit)
            if (
                instruction is None
                or len(gap) == _MOST_BETWEEN
                or self._is_entered(address, site.limit)
            ):
                return None
            gap.append(instruction)
            address += len(instruction.code)
        entered = self._is_entered(address, site.limit)
        return None if address != following.address or entered else gap
