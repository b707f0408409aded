"""Calls: the callee's summaries or model applied to the caller's state."""

from leakline.model.finding import Kind
from leakline.static.engine import memory
from leakline.static.engine.alternatives import common_conditions
from leakline.static.engine.arithmetic import binary, cast
from leakline.static.engine.constraints import (
    compare,
    constrain,
    negation,
)
from leakline.static.engine.context import Context
from leakline.static.engine.findings import Event, record, report
from leakline.static.engine.heap import allocate, release, use
from leakline.static.engine.library_calls import apply_model
from leakline.static.engine.places import place_of
from leakline.static.engine.projection import project
from leakline.static.engine.ranges import NON_NULL
from leakline.static.engine.state import ESCAPED, State
from leakline.static.engine.summary import (
    Allocation,
    Conditions,
    Disjunct,
    Latent,
    Name,
    NamedValue,
    Place,
    Summary,
)
from leakline.static.engine.values import CODE, GLOBAL, SYMBOL, Value, moved
from leakline.static.instructions import Call, CallFlag, Invoke

# Longer chains of calls are cut in the middle of a report anyway.
_MOST_PLACES = 12


def call(
    ctx: Context, s: State, row: Call | Invoke, callee: Value | None
) -> list[State]:
    """The states after a call; `callee` is the code address of an indirect one."""
    values = [value_of(ctx, s, argument) for argument in row.arguments]
    targets = _targets(ctx, row, callee)
    if targets is None:
        return _unknown_code(ctx, s, row, values)
    states: list[State] = []
    for number, target in enumerate(targets):
        state = s.copy() if number + 1 < len(targets) else s
        states.extend(_call_target(ctx, state, row, values, target))
    return states


def value_of(ctx: Context, s: State, operand: int) -> Value:
    """The value of an operand."""
    if operand < 0:
        return ctx.constants[-operand - 1]
    value = s.env.get(operand)
    if value is None:
        value = s.env[operand] = ctx.terms.symbol("undef", operand)
    return value


def _targets(
    ctx: Context, row: Call | Invoke, callee: Value | None
) -> tuple[str, ...] | None:
    if isinstance(row.callee, str):
        return (ctx.surroundings.code_id(row.callee),)
    if callee is not None and not isinstance(callee, int):
        key = ctx.terms.keys[callee[0]]
        if key[0] == "code":
            return (key[1],)
    return ctx.surroundings.targets(row)


def _call_target(
    ctx: Context, s: State, row: Call | Invoke, values: list[Value], target: str
) -> list[State]:
    summary = ctx.surroundings.summary(target)
    model = ctx.surroundings.model(target)
    if model is not None and (summary is None or _trusted(model.name, summary)):
        return apply_model(ctx, s, model, row, values)
    if summary is not None:
        if not summary.known:
            return _unknown_code(ctx, s, row, values)
        return apply_summary(ctx, s, _projected(ctx, summary), row, values)
    if row.flags & CallFlag.NORETURN:
        return []
    return _unknown_library(ctx, s, row, values)


def _projected(ctx: Context, summary: Summary) -> Summary:
    found = ctx.projected.get(summary.function)
    if found is None:
        found = ctx.projected[summary.function] = project(summary, ctx.own)
    return found


def _trusted(name: str, summary: Summary) -> bool:
    """A program's own definition wins over a model, unless it was not understood."""
    del name
    return not summary.known


def _unknown_code(
    ctx: Context, s: State, row: Call | Invoke, values: list[Value]
) -> list[State]:
    states = _unknown_library(ctx, s, row, values)
    for state in states:
        memory.change_globals(ctx, state)
    return states


def _unknown_library(
    ctx: Context, s: State, row: Call | Invoke, values: list[Value]
) -> list[State]:
    if row.flags & CallFlag.NORETURN:
        return []
    for operand, value in zip(row.arguments, values, strict=True):
        if _may_be_pointer(ctx, operand, value):
            memory.havoc(ctx, s, value)
    if row.result >= 0:
        value = ctx.terms.symbol(
            "result", row.location, row.result, row.callee, s.epoch
        )
        s.env[row.result] = value
        if row.flags & CallFlag.NONNULL:
            constrain(ctx, s, value, NON_NULL)
    return [s]


def _may_be_pointer(ctx: Context, operand: int, value: Value) -> bool:
    """Numbers read from the caller's memory are no objects that could be kept."""
    if isinstance(value, int):
        return False
    return operand not in ctx.flow.numbers or ctx.terms.kinds[value[0]] != SYMBOL


def apply_summary(
    ctx: Context, s: State, summary: Summary, row: Call | Invoke, values: list[Value]
) -> list[State]:
    """One state for each behaviour of the callee that is possible here."""
    for latent in summary.latent:
        _bring_about(ctx, s, latent, row, values)
    states = []
    last = len(summary.disjuncts) - 1
    for number, disjunct in enumerate(summary.disjuncts):
        state = s.copy() if number < last else s
        application = _Application(ctx, state, row, values, disjunct, number)
        # Applying a disjunct costs about as much as so many instructions.
        ctx.walked += 2 + len(disjunct.alternatives) + len(disjunct.writes)
        if application.run(summary):
            states.append(state)
    return states


def _bring_about(
    ctx: Context, s: State, latent: Latent, row: Call | Invoke, values: list[Value]
) -> None:
    """Report the callee's defect if this call can meet its conditions."""
    state = s.copy()
    application = _Application(ctx, state, row, values, Disjunct(), -1)
    if application.assume_conditions(latent.conditions):
        report(ctx, state, Kind.LOST, -1, row.location, latent=latent.identity)


class _Application:
    """One disjunct applied to one state."""

    def __init__(
        self,
        ctx: Context,
        s: State,
        row: Call | Invoke,
        values: list[Value],
        disjunct: Disjunct,
        number: int,
    ) -> None:
        self._ctx = ctx
        self._s = s
        self._row = row
        self._values = values
        self._disjunct = disjunct
        self._number = number
        self._known: dict[Name, Value] = {}
        self._possible = True

    def run(self, summary: Summary) -> bool:
        """Change the state; False when the behaviour is impossible here."""
        d = self._disjunct
        if not self._assume_one(d.alternatives):
            return False
        self._allocate()
        self._resolve_names()
        if not self._possible or not self._limit_unknown():
            return False
        self._change_objects()
        self._write()
        for value in d.escapes:
            memory.escape(self._ctx, self._s, self._value(value))
        self._touch(d.touched)
        if d.changes_world:
            memory.change_globals(self._ctx, self._s)
        self._return(None if d.result is None else self._value(d.result))
        self._announce(summary)
        return True

    def _resolve_names(self) -> None:
        """Names mean what they meant at entry, so all are looked up before changes."""
        d = self._disjunct
        for item in d.frees:
            self._value(item.value)
        for write in d.writes:
            self._name(write.base)
            self._value(write.value)
        for value, counter in d.counted:
            self._value(value)
            self._name(counter)
        for value in (*d.escapes, *((name, 0) for name in d.overwritten)):
            self._value(value)
        for name in d.copied:
            self._name(name)
        if d.result is not None:
            self._value(d.result)

    def _change_objects(self) -> None:
        d = self._disjunct
        for name in sorted(d.copied, key=repr):
            memory.escape_contents(self._ctx, self._s, self._name(name))
        for name in d.overwritten:
            memory.scribble(self._ctx, self._s, self._name(name))
        for shared, counter in d.counted:
            if not isinstance(self._name(counter), int):
                memory.escape(self._ctx, self._s, self._value(shared))
        for item in d.frees:
            value = self._value(item.value)
            release(self._ctx, self._s, value, item.family, detail=item.places)

    def _write(self) -> None:
        for write in self._disjunct.writes:
            base = self._name(write.base)
            if isinstance(base, int):
                continue
            place = moved(base, write.offset)
            if _is_joined(write.value):
                self._escape_old(place)
            value = self._value(write.value)
            memory.store(self._ctx, self._s, place, value, write.size_bytes)

    def _assume_one(self, alternatives: tuple[Conditions, ...]) -> bool:
        """Learn what holds whichever possible alternative does."""
        if len(alternatives) == 1:
            return self.assume_conditions(alternatives[0])
        possible = [found for found in alternatives if self._could_hold(found)]
        if not possible:
            return False
        return self.assume_conditions(common_conditions(possible))

    def _could_hold(self, conditions: Conditions) -> bool:
        trial = _Application(
            self._ctx, self._s.copy(), self._row, self._values, self._disjunct, -1
        )
        return trial.assume_conditions(conditions)

    def assume_conditions(self, conditions: Conditions) -> bool:
        """Learn what must hold at entry; False when it cannot."""
        for name, allowed in conditions:
            value = self._name(name)
            if not self._possible:
                return False
            if not constrain(self._ctx, self._s, value, allowed):
                return False
            if self._ctx.replaying and not isinstance(value, int):
                self._s.path = (self._s.path, (value, allowed))
        return True

    def _announce(self, summary: Summary) -> None:
        if self._ctx.replaying:
            detail = (summary.display, self._disjunct, len(summary.disjuncts))
            record(self._ctx, self._s, Event("called", self._row.location, -1, detail))

    def _allocate(self) -> None:
        for number, made in enumerate(self._disjunct.allocations):
            here = place_of(self._ctx, self._row.location)
            allocation = Allocation(
                _longer(made.places, here),
                made.allocator,
                made.family,
                made.size_bytes,
                made.zeroed,
            )
            site = (
                self._row.location,
                self._row.result,
                self._row.callee,
                made.places,
                number,
            )
            value = allocate(self._ctx, self._s, site, allocation)
            if number in self._disjunct.kept:
                self._s.writable_objects()[value[0]] = ESCAPED
            self._known["heap", number] = value

    def _escape_old(self, place: Value) -> None:
        """The place was perhaps not written: what it holds may still be there."""
        held = None if isinstance(place, int) else self._s.holders.get(place)
        if held is not None:
            memory.escape(self._ctx, self._s, (held, 0))

    def _touch(self, touched: frozenset[str]) -> None:
        for name in sorted(touched):
            base = self._ctx.terms.known(("global", name))
            if base is not None:
                memory.havoc(self._ctx, self._s, (base, 0))
        self._s.touched |= touched - self._ctx.own

    def _limit_unknown(self) -> bool:
        for number, allowed in self._disjunct.unknown:
            value = self._name(("new", number))
            if not constrain(self._ctx, self._s, value, allowed):
                return False
            if self._ctx.replaying and not isinstance(value, int):
                self._s.path = (self._s.path, (value, allowed))
        return True

    def _return(self, result: Value | None) -> None:
        if self._row.result < 0:
            return
        if result is None:
            result = self._unknown("result")
        self._s.env[self._row.result] = result

    def _value(self, value: NamedValue) -> Value:
        if isinstance(value, int):
            return value
        return moved(self._name(value[0]), value[1])

    def _name(self, name: Name) -> Value:
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = self._resolve(name)
        return known

    def _resolve(self, name: Name) -> Value:
        match name[0]:
            case "arg":
                return self._argument(name[1])
            case "cell":
                return self._cell(name)
            case "global":
                return self._ctx.terms.base(GLOBAL, name), 0
            case "code":
                return self._ctx.terms.base(CODE, name), 0
            case "eq" | "slt" | "ult" as predicate:
                left, right = self._value(name[1]), self._value(name[2])
                return compare(self._ctx, self._s, predicate, left, right)
            case "not":
                return negation(self._ctx, self._value(name[1]))
            case "bin":
                left, right = self._value(name[2]), self._value(name[3])
                return binary(self._ctx, self._s, name[1], left, right, name[4])
            case "cast":
                inner = self._value(name[2])
                return cast(self._ctx, self._s, name[1], inner, name[3], name[4])
            case _:
                return self._unknown(name)

    def _argument(self, index: int) -> Value:
        if index < len(self._values):
            return self._values[index]
        return self._unknown(("arg", index))

    def _cell(self, name: Name) -> Value:
        base = self._name(name[1])
        if isinstance(base, int):
            # The callee reads through a null pointer: this call does not come back.
            self._possible = False
            return base
        pointer = moved(base, name[2])
        use(self._ctx, self._s, pointer)
        return memory.peek(self._ctx, self._s, pointer)

    def _unknown(self, what: object) -> Value:
        row = self._row
        return self._ctx.terms.symbol(
            "callee", row.location, row.result, self._number, what, self._s.epoch
        )


def _is_joined(value: NamedValue) -> bool:
    """Whether the write is one of several behaviours that were joined."""
    if isinstance(value, int) or value[0][0] != "new":
        return False
    return bool(value[0][1][:1] == ("write",))


def _longer(places: tuple[Place, ...], place: Place) -> tuple[Place, ...]:
    if len(places) < _MOST_PLACES:
        return (*places, place)
    return (*places[: _MOST_PLACES - 1], place)
