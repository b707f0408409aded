"""Rounds of loops: the first ones are walked exactly, then what changes is widened."""

from leakline.static.engine import memory
from leakline.static.engine.constraints import constrain, is_null, value_range
from leakline.static.engine.context import Context
from leakline.static.engine.ranges import ANY, NON_NULL, UNBOUNDED, Range
from leakline.static.engine.state import FREED, LoopRound, State
from leakline.static.engine.values import CODE, HEAP, STACK, SYMBOL, Offset, Value
from leakline.static.instructions import Phi

# Rounds walked exactly while objects are tracked; the first number is for outermost
# loops. One widened round follows, and what it leads back to is covered by it.
_EXACT_OUTER, _EXACT_INNER = 2, 1
# A replay walks single paths: it widens only loops that leave the heap alone, as a
# structure of a few objects must not stand for a count that was widened.
_EXACT_REPLAY = 3
# A widened round that still changes the lives of objects is followed by another.
_MOST_ROUNDS = 5


def enter(ctx: Context, s: State, source: int, target: int) -> bool:
    """Move a state along an edge; False when earlier states cover it there."""
    env = s.env
    s.arrival = ctx.flow.blocks[source][-1][2]
    phis = _phi_values(ctx, s, source, target)
    s.env = {r: env[r] for r in ctx.flow.live[target] if r in env}
    s.env.update(phis)
    _leave_loops(ctx, s, target)
    if target in ctx.flow.loops:
        while any(loop.head == target for loop in s.loops):
            if s.loops[-1].head == target:
                return _next_round(ctx, s, target)
            s.loops = s.loops[:-1]
        _start_loop(ctx, s, target, phis)
    return True


def _phi_values(ctx: Context, s: State, source: int, target: int) -> dict[int, Value]:
    values: dict[int, Value] = {}
    for row in ctx.flow.blocks[target]:
        if not isinstance(row, Phi):
            break
        for block, operand in row.incoming:
            if block == source:
                values[row.result] = _operand(ctx, s, operand)
                break
    return values


def _operand(ctx: Context, s: State, operand: int) -> Value:
    if operand < 0:
        return ctx.constants[-operand - 1]
    value = s.env.get(operand)
    return ctx.terms.symbol("undef", operand) if value is None else value


def _leave_loops(ctx: Context, s: State, target: int) -> None:
    while s.loops and target not in ctx.flow.loops[s.loops[-1].head]:
        s.epoch = s.loops[-1].outer_epoch
        s.loops = s.loops[:-1]


def _start_loop(ctx: Context, s: State, head: int, phis: dict[int, Value]) -> None:
    # Sharing the tables now makes later writes copy them, so these stay as they are.
    shared = s.copy()
    entry = LoopRound(
        head=head,
        number=0,
        outer_epoch=s.epoch,
        env=phis,
        memory=shared.memory,
        last=(phis, shared.memory),
        objects=shared.objects,
        heap=(s.objects, s.holders),
    )
    s.loops = (*s.loops, entry)
    s.epoch = ctx.terms.symbol("epoch", s.epoch, head, 0)[0]


def _next_round(ctx: Context, s: State, head: int) -> bool:
    loop = s.loops[-1]
    number = loop.number + 1
    exact = _exact_rounds(ctx, s, loop)
    if number > exact + 1 and (_same_lives(ctx, s, loop) or number > _MOST_ROUNDS):
        return False
    if number > exact and not _may_widen(ctx, s, loop):
        return False
    shared = s.copy()
    phis = {register: s.env[register] for register in loop.env if register in s.env}
    s.loops = (
        *s.loops[:-1],
        loop._replace(
            number=number, last=(phis, shared.memory), objects=shared.objects
        ),
    )
    s.epoch = ctx.terms.symbol("epoch", loop.outer_epoch, head, number)[0]
    if number > exact:
        _widen(ctx, s, loop, head)
    return True


def _may_widen(ctx: Context, s: State, loop: LoopRound) -> bool:
    """Whether a replay may go on with widened numbers.

    The structure that a loop builds must not have fewer objects than its counter
    says, unless the path is about an object that is older than the loop.
    """
    if not ctx.replaying or loop.heap == (s.objects, s.holders):
        return True
    keys = ctx.terms.keys
    kinds = ctx.terms.kinds
    return any(kinds[b] == HEAP and keys[b][1] == ctx.sought for b in loop.heap[0])


def _same_lives(ctx: Context, s: State, loop: LoopRound) -> bool:
    """Whether the round left the lives of the caller's objects as they were."""
    kinds = ctx.terms.kinds
    now = {b: life for b, life in s.objects.items() if kinds[b] == SYMBOL}
    before = {b: life for b, life in loop.objects.items() if kinds[b] == SYMBOL}
    return now == before


def _exact_rounds(ctx: Context, s: State, loop: LoopRound) -> int:
    if ctx.replaying:
        return _EXACT_REPLAY
    if loop.heap == (s.objects, s.holders):
        return 0
    return _EXACT_OUTER if ctx.flow.depth[loop.head] <= 1 else _EXACT_INNER


def _widen(ctx: Context, s: State, loop: LoopRound, head: int) -> None:
    for register, before in loop.env.items():
        now = s.env.get(register)
        if now is not None and now != before and not _is_object(ctx, now):
            last = loop.last[0].get(register, before)
            values = before, last, now
            widened = _widened(ctx, s, values, (head, register))
            s.env[register] = widened
            if register not in ctx.flow.numbers and _both_point(ctx, s, before, now):
                constrain(ctx, s, widened, NON_NULL)
    _widen_memory(ctx, s, loop, head)


def _both_point(ctx: Context, s: State, before: Value, now: Value) -> bool:
    """Whether neither address is null; moving along an object does not make one so."""
    return is_null(ctx, s, before) is False and (
        is_null(ctx, s, now) is False
        or (not isinstance(now, int) and is_null(ctx, s, (now[0], 0)) is False)
    )


def _is_object(ctx: Context, value: Value) -> bool:
    """Pointers to objects stay: the few rounds walked stand for structures of any size."""
    return not isinstance(value, int) and ctx.terms.kinds[value[0]] in (HEAP, STACK)


def _widen_memory(ctx: Context, s: State, loop: LoopRound, head: int) -> None:
    changed: list[tuple[int, Offset, Value, int]] = []
    for base, cells in s.memory.items():
        before = loop.memory.get(base)
        if before is cells or ctx.terms.kinds[base] == CODE:
            continue
        for offset, (value, size) in cells.items():
            old = before.get(offset) if before is not None else None
            if _is_object(ctx, value) or (old is not None and old[0] == value):
                continue
            was = memory.untouched(ctx, s, base, offset) if old is None else old[0]
            name = (head, base, offset)
            if size == memory.POINTER_BYTES:
                memory.unsure_of_initial(ctx, s, base, offset, (was, value))
            last = loop.last[1].get(base, {}).get(offset)
            values = was, was if last is None else last[0], value
            changed.append((base, offset, _widened(ctx, s, values, name), size))
    for base, offset, value, size in changed:
        memory.set_cell(ctx, s, base, offset, value, size)


def _widened(
    ctx: Context,
    s: State,
    values: tuple[Value, Value, Value],
    name: tuple[object, ...],
) -> Value:
    """A symbol for whatever the value becomes in later rounds.

    The values are those before the loop, as the last round began, and now. Where a loop
    frees what it walks over, later rounds may free the value too.
    """
    before, last, now = values
    if FREED in s.objects.values():
        memory.escape(ctx, s, now)
    symbol = ctx.terms.symbol("widen", *name, s.epoch)
    for value in ctx.add_parts(symbol[0], (before, now)):
        memory.escape(ctx, s, value)
    wide = _wide_range(value_range(ctx, s, last), value_range(ctx, s, now))
    if wide != ANY:
        s.writable_ranges()[symbol[0]] = wide
    return symbol


def _wide_range(before: Range, now: Range) -> Range:
    """Bounds that did not move are taken to stay."""
    low = before[0] if now[0] >= before[0] else -UNBOUNDED
    high = before[1] if now[1] <= before[1] else UNBOUNDED
    return low, high, None
