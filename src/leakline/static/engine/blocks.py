"""Walking one block: its instructions in order, then where control goes."""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from leakline.static.engine import memory
from leakline.static.engine.calls import call, value_of
from leakline.static.engine.constraints import assume, compare
from leakline.static.engine.context import Context
from leakline.static.engine.findings import Event, record
from leakline.static.engine.merging import merge
from leakline.static.engine.state import ALLOCATED, State
from leakline.static.engine.transfer import HANDLERS, Row, note_condition
from leakline.static.engine.values import Value
from leakline.static.instructions import Op

# States that one block may hold after a call before they are joined.
_MOST_AFTER_CALL = 4
# In a replay nothing is joined, and further behaviours of a call are left out.
_MOST_REPLAYED = 24

Edge: TypeAlias = tuple[int, State]


class Exit(NamedTuple):
    """A state at a return, or where an exception leaves the function."""

    state: State
    value: Value | None
    location: int
    thrown: bool = False


class Outcome(NamedTuple):
    """Where control goes after a block."""

    edges: list[Edge]
    exits: list[Exit]


def walk_block(ctx: Context, s: State, block: int) -> Outcome:
    """Walk a block from its start."""
    outcome = Outcome([], [])
    states = [s]
    rows = ctx.flow.blocks[block]
    ctx.block = block
    for index, row in enumerate(rows):
        ctx.walked += len(states)
        ctx.here = row[2] or ctx.here
        handler = HANDLERS.get(row[0])
        if handler is None or (row[0] == Op.ASM and index + 1 == len(rows)):
            for state in states:
                _TERMINATORS[row[0]](ctx, state, row, outcome)
            return outcome
        states = _step(ctx, states, row, handler)
        if ctx.unwound:
            states = _let_go(states, row, outcome)
        if len(states) > _MOST_AFTER_CALL:
            states = _fewer(ctx, states, (block, index))
        if not states:
            break
    return outcome


def _let_go(states: list[State], row: Row, outcome: Outcome) -> list[State]:
    """Exceptions leave the function; the states that go on remain."""
    for state in states:
        if state.unwinding:
            state.unwinding = False
            outcome.exits.append(Exit(state, None, row[2], thrown=True))
    left = {id(exit_.state) for exit_ in outcome.exits}
    return [state for state in states if id(state) not in left]


def _step(
    ctx: Context,
    states: list[State],
    row: Row,
    handler: Callable[[Context, State, Row], list[State] | None],
) -> list[State]:
    if len(states) == 1:
        after = handler(ctx, states[0], row)
        return states if after is None else after
    found: list[State] = []
    for state in states:
        after = handler(ctx, state, row)
        if after is None:
            found.append(state)
        else:
            found.extend(after)
    return found


def _fewer(ctx: Context, states: list[State], place: object) -> list[State]:
    if ctx.replaying:
        return states[:_MOST_REPLAYED]
    return merge(ctx, states, place)


def _branch(ctx: Context, s: State, row: Row, outcome: Outcome) -> None:
    condition = value_of(ctx, s, row[3])
    if isinstance(condition, int):
        outcome.edges.append((row[4] if condition else row[5], s))
        return
    other = s.copy()
    for state, target, truth in ((s, row[4], True), (other, row[5], False)):
        if assume(ctx, state, condition, truth=truth):
            note_condition(ctx, state, condition, truth=truth)
            record(ctx, state, Event("branch", row[2], -1, (condition, truth)))
            outcome.edges.append((target, state))


def _jump(ctx: Context, s: State, row: Row, outcome: Outcome) -> None:
    del ctx
    outcome.edges.append((row[3], s))


def _switch(ctx: Context, s: State, row: Row, outcome: Outcome) -> None:
    value = value_of(ctx, s, row[3])
    if isinstance(value, int):
        targets = dict(reversed([(number, block) for number, block in row[5]]))
        outcome.edges.append((targets.get(value, row[4]), s))
        return
    default: State | None = s.copy()
    by_target: dict[int, list[int]] = {}
    for number, target in row[5]:
        by_target.setdefault(target, []).append(number)
    for target, numbers in by_target.items():
        if target != row[4]:
            _switch_case(ctx, s, value, (target, numbers), row, outcome)
        for number in numbers if target != row[4] else ():
            if default is not None:
                other = compare(ctx, default, "ne", value, number)
                if not assume(ctx, default, other, truth=True):
                    default = None
                else:
                    note_condition(ctx, default, other, truth=True)
    if default is not None:
        record(ctx, default, Event("switch", row[2], -1, (value, None)))
        outcome.edges.append((row[4], default))


def _switch_case(
    ctx: Context,
    s: State,
    value: Value,
    case: tuple[int, list[int]],
    row: Row,
    outcome: Outcome,
) -> None:
    target, numbers = case
    states = []
    for number in numbers:
        state = s.copy()
        equal = compare(ctx, state, "eq", value, number)
        if assume(ctx, state, equal, truth=True):
            note_condition(ctx, state, equal, truth=True)
            record(ctx, state, Event("switch", row[2], -1, (value, number)))
            states.append(state)
    if not ctx.replaying:
        states = merge(ctx, states, ("case", target, row[2])) if states else []
    outcome.edges.extend((target, state) for state in states)


def _return(ctx: Context, s: State, row: Row, outcome: Outcome) -> None:
    value = None if row[3] is None else value_of(ctx, s, row[3])
    outcome.exits.append(Exit(s, value, row[2]))


def _invoke(ctx: Context, s: State, row: Row, outcome: Outcome) -> None:
    callee = None if isinstance(row[3], str) else value_of(ctx, s, row[3])
    for state in call(ctx, s, row, callee):
        outcome.edges.append((row.unwind if state.unwinding else row.normal, state))
        state.unwinding = False


def _goto(ctx: Context, s: State, row: Row, outcome: Outcome) -> None:
    """A computed jump; which of several labels it takes is not known."""
    targets = dict.fromkeys(row[4])
    if len(targets) > 1:
        for base, life in list(s.objects.items()):
            if life == ALLOCATED:
                memory.escape_object(ctx, s, base)
    outcome.edges.extend((target, s.copy()) for target in targets)


def _asm_goto(ctx: Context, s: State, row: Row, outcome: Outcome) -> None:
    HANDLERS[Op.ASM](ctx, s, row)
    outcome.edges.extend((target, s.copy()) for target in dict.fromkeys(row[6]))


def _resume(ctx: Context, s: State, row: Row, outcome: Outcome) -> None:
    del ctx
    outcome.exits.append(Exit(s, None, row[2], thrown=True))


def _end(ctx: Context, s: State, row: Row, outcome: Outcome) -> None:
    del ctx, s, row, outcome


_TERMINATORS: dict[int, Callable[[Context, State, Row, Outcome], None]] = {
    Op.BRANCH: _branch,
    Op.JUMP: _jump,
    Op.SWITCH: _switch,
    Op.RETURN: _return,
    Op.INVOKE: _invoke,
    Op.GOTO: _goto,
    Op.ASM: _asm_goto,
    Op.UNREACHABLE: _end,
    Op.RESUME: _resume,
}
