"""Confirmation: following single paths, nothing joined, until one is possible.

The blocks that the merged walk took are tried first; only when they lead nowhere are
other paths searched. A path counts when the solver finds values that take it.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from leakline.model.finding import Kind
from leakline.static.engine.blocks import walk_block
from leakline.static.engine.context import Context
from leakline.static.engine.findings import Candidate
from leakline.static.engine.heap import collect
from leakline.static.engine.loops import enter
from leakline.static.engine.state import State
from leakline.static.engine.walk import ENTRY_BLOCK, initial_state, leave
from leakline.static.solver import Query, Verdict

# States followed at once along the blocks of a trail.
_MOST_ALONG_TRAIL = 48
# Paths that the solver may call impossible before a candidate is given up.
_MOST_QUERIES = 6

Ask = Callable[[Query], Verdict]


class Replay:
    """The search for one candidate's path.

    Attributes:
        crashed: A path could not be judged, because the solver crashed on it.
    """

    def __init__(self, ctx: Context, candidate: Candidate, ask: Ask) -> None:
        self.ctx = ctx
        self._key = candidate.key
        self._trail = _blocks(candidate.trail)
        self._ask = ask
        self._queries = 0
        self.crashed = False

    def confirm(self) -> Candidate | None:
        """The candidate as met on a possible path; None when there is none."""
        for search in (self._along_trail, self._everywhere):
            for met in search():
                if self._possible(met.state):
                    return met
                if self._queries >= _MOST_QUERIES:
                    return None
        return None

    def _possible(self, s: State) -> bool:
        self._queries += 1
        verdict = self._ask(query_of(self.ctx, s))
        self.crashed = self.crashed or verdict is Verdict.CRASHED
        return verdict is Verdict.POSSIBLE

    def _met(self) -> Iterator[Candidate]:
        """The candidate, if the steps just walked met it; then it can be met again."""
        met = self.ctx.candidates.pop(self._key, None)
        if met is not None:
            yield met

    def _along_trail(self) -> Iterator[Candidate]:
        states = [initial_state(self.ctx)]
        for place, block in enumerate(self._trail):
            if self.ctx.walked > self.ctx.options.replay_instructions:
                return
            following = self._trail[place + 1 : place + 2]
            after: list[State] = []
            for state in states:
                for target, moved in self._advance(state, block):
                    yield from self._met()
                    if [target] == following:
                        after.append(moved)
                yield from self._met()
            states = after[:_MOST_ALONG_TRAIL]

    def _advance(self, s: State, block: int) -> Iterator[tuple[int, State]]:
        s.trail = (s.trail, block)
        outcome = walk_block(self.ctx, s, block)
        for left in outcome.exits:
            leave(self.ctx, left)
        for target, state in outcome.edges:
            if enter(self.ctx, state, block, target):
                if state.objects:
                    collect(self.ctx, state)
                yield target, state

    def _everywhere(self) -> Iterator[Candidate]:
        """Depth first, within the budget."""
        limit = self.ctx.walked + self.ctx.options.replay_instructions
        stack = [(ENTRY_BLOCK, initial_state(self.ctx))]
        while stack and self.ctx.walked < limit:
            block, state = stack.pop()
            following = []
            for edge in self._advance(state, block):
                yield from self._met()
                following.append(edge)
            yield from self._met()
            stack.extend(reversed(following))


def _blocks(trail: Any) -> list[int]:  # noqa: ANN401  # a linked list of blocks
    found = []
    while trail is not None:
        trail, block = trail
        found.append(block)
    return found[::-1]


def replaying(ctx: Context, candidate: Candidate) -> Context:
    """A fresh context for the same function that follows single paths."""
    return replace(
        ctx,
        terms=type(ctx.terms)(),
        constants=[],
        globals={},
        allocations={},
        releases={},
        candidates={},
        parts={},
        taints={},
        walked=0,
        replaying=True,
        unwound=False,
        sought=candidate.key[1] if candidate.kind is Kind.LOST else None,
    )


def query_of(ctx: Context, s: State) -> Query:
    """The conditions of a path, for the solver."""
    conditions = []
    link = s.path
    while link is not None:
        link, condition = link
        conditions.append(condition)
    return Query.of(ctx.terms, conditions[::-1], ctx.options.solver_effort)
