"""Gathers neighbouring sites that are armed together, by one jump.

Where nobody jumps to a site, the stub of what runs before it can run it too. That saves
jumps and stubs; and an instruction before a short site may be long enough for a jump
that leads anywhere, so that the stub needs no page of its own.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from leakline.patching.accesses.sites import Census, Flow, Site, Taken
from leakline.patching.accesses.stubs import Step
from leakline.patching.neighbours import Gap, Neighbours, Together

_MOST_SITES = 6
# More code in a stub gains nothing.
_GAP = Gap(instructions=4, bytes=24)


@dataclass(frozen=True, slots=True)
class Group(Together[Step]):
    """Neighbours that one stub runs; the last step is a site."""

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
        self._sites = census.sites
        self._neighbours = Neighbours(code, base, census, taken)

    def groups(self) -> Iterator[Group]:
        """Yield groups in ascending order of address."""
        end = at = 0
        while at < len(self._sites):
            steps = self._following(at)
            lead = self._neighbours.leading(self._sites[at], end)
            group = Group((*lead, *steps), len(lead))
            at += len(group.sites)
            end = group.end
            yield group

    def _following(self, at: int) -> list[Step]:
        """Return a site and what can run with it up to the last site of its group."""
        steps: list[Step] = [self._sites[at]]
        for site, following in pairwise(self._sites[at : at + _MOST_SITES]):
            if site.flow is not Flow.NEXT:
                break
            gap = self._neighbours.between(site, following, _GAP)
            if gap is None:
                break
            steps += [*gap, following]
        return steps
