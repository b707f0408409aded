"""The merged walk over one function: every path, joined where properties agree."""

import heapq
from dataclasses import dataclass
from typing import TypeAlias

from leakline.static.engine.blocks import Exit, walk_block
from leakline.static.engine.context import Context
from leakline.static.engine.correlation import is_possible
from leakline.static.engine.heap import bases_in, find_lost, report_lost
from leakline.static.engine.loops import enter
from leakline.static.engine.merging import collect_all, merge
from leakline.static.engine.state import State
from leakline.static.engine.values import STACK
from leakline.static.instructions import Op

ENTRY_BLOCK = 0

# The position of each loop being walked with its round, outermost first, and then the
# position of the block.
Turn: TypeAlias = tuple[int, ...]

_SHORT_BLOCK = 12
_MOST_AT_RETURN = 40


@dataclass(slots=True)
class Walk:
    """The result of a walk.

    Attributes:
        complete: False when the budget ran out; then the exits are not all.
    """

    exits: list[Exit]
    complete: bool


def walk(ctx: Context) -> Walk:
    """Walk the function until nothing new is left."""
    exits: list[Exit] = []
    pending: dict[Turn, list[State]] = {}
    queue: list[tuple[Turn, int]] = []
    _await(ctx, pending, queue, ENTRY_BLOCK, initial_state(ctx))
    while queue:
        turn, block = heapq.heappop(queue)
        states = [state for state in pending.pop(turn) if is_possible(state)]
        collect_all(ctx, states)
        if len(states) > _returning(ctx, block):
            states = merge(ctx, states, block)
        if ctx.over_budget():
            ctx.taint("too large to follow all of its paths")
            return Walk(exits, complete=False)
        for state in states:
            state.trail = (state.trail, block)
            outcome = walk_block(ctx, state, block)
            for left in outcome.exits:
                leave(ctx, left)
                exits.append(left)
            for target, after in outcome.edges:
                if enter(ctx, after, block, target):
                    _await(ctx, pending, queue, target, after)
    return Walk(exits, complete=True)


def _await(
    ctx: Context,
    pending: dict[Turn, list[State]],
    queue: list[tuple[Turn, int]],
    block: int,
    state: State,
) -> None:
    turn = _turn(ctx, state, block)
    if turn not in pending:
        pending[turn] = []
        heapq.heappush(queue, (turn, block))
    pending[turn].append(state)


def _turn(ctx: Context, s: State, block: int) -> Turn:
    """When a block's turn comes.

    One round of a loop is walked to its end before the next one begins, and the last
    one before what follows the loop, so that states meet wherever they can.
    """
    order = ctx.flow.order
    rounds = (part for loop in s.loops for part in (order[loop.head], loop.number))
    return (*rounds, order[block])


def _returning(ctx: Context, block: int) -> int:
    """States that may stay apart: many at a return, whose conditions callers need."""
    rows = ctx.flow.blocks[block]
    if rows[-1][0] == Op.RETURN and len(rows) < _SHORT_BLOCK:
        return _MOST_AT_RETURN
    return 1


def initial_state(ctx: Context) -> State:
    """The state at entry: every argument is unknown."""
    s = State()
    for index, _ in enumerate(ctx.function.declaration.parameters):
        s.env[index] = ctx.terms.symbol("arg", index)
    return s


def leave(ctx: Context, left: Exit) -> None:
    """Report what a return loses; at the end of main nothing counts as lost."""
    s = left.state
    if not s.owns_allocated() or (left.thrown and ctx.function.name == "main"):
        return
    ctx.here = left.location
    location = _leaving(ctx, left)
    roots = [] if left.value is None else bases_in(ctx, left.value)
    if ctx.function.name == "main":
        roots.extend(base for base, _ in s.holders if ctx.terms.kinds[base] == STACK)
        roots.extend(s.variables.values())
        for value in s.env.values():
            roots.extend(bases_in(ctx, value))
    for base in find_lost(ctx, s, roots):
        report_lost(ctx, s, base, leaving=location)


def _leaving(ctx: Context, left: Exit) -> int:
    """The return statement: several of them share one block that returns."""
    shared = sum(ctx.block in targets for targets in ctx.flow.successors) > 1
    return left.state.arrival if shared and left.state.arrival else left.location
