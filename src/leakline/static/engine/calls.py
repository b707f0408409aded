"""Calls: the callee's summaries or model applied to the caller's state."""

from dataclasses import replace

from leakline.model.finding import Kind
from leakline.static.engine import memory
from leakline.static.engine.application import Application
from leakline.static.engine.constraints import (
    constrain,
)
from leakline.static.engine.context import Context
from leakline.static.engine.exceptions import handler_type, throws
from leakline.static.engine.findings import report
from leakline.static.engine.handing import note_summary
from leakline.static.engine.heap import ANY_FAMILY
from leakline.static.engine.library_calls import apply_model
from leakline.static.engine.projection import project
from leakline.static.engine.ranges import NON_NULL
from leakline.static.engine.resizing import meant
from leakline.static.engine.state import State
from leakline.static.engine.summary import (
    Disjunct,
    Latent,
    Summary,
)
from leakline.static.engine.values import SYMBOL, Value
from leakline.static.instructions import Call, CallFlag, Invoke
from leakline.static.models.language import Model


def call(
    ctx: Context, s: State, row: Call | Invoke, callee: Value | None
) -> list[State]:
    """The states after a call; `callee` is the code address of an indirect one."""
    values = [value_of(ctx, s, argument) for argument in row.arguments]
    if throws(ctx, s, row.callee, values):
        return [s]
    handler = handler_type(ctx, row.callee, values)
    if handler is not None:
        s.env[row.result] = handler
        return [s]
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
    if model is not None and (summary is None or model.asked_for):
        return apply_model(ctx, s, model, row, values)
    if model is not None and summary is not None and not summary.known:
        return apply_model(ctx, s, _of_this_program(model), row, values)
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


def _of_this_program(model: Model) -> Model:
    """The model of a function that the program itself defines, but too large a one.

    Inside a library its users' rules on which function releases what do not hold.
    """
    return replace(
        model,
        owned=tuple(replace(owned, family=ANY_FAMILY) for owned in model.owned),
        frees=tuple(replace(item, family=ANY_FAMILY) for item in model.frees),
    )


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
    disjuncts = _apart(ctx, meant(ctx, s, summary.disjuncts, values))
    last = len(disjuncts) - 1
    for number, disjunct in enumerate(disjuncts):
        state = s.copy() if number < last else s
        application = Application(ctx, state, row, values, disjunct, number)
        # Applying a disjunct costs about as much as so many instructions.
        ctx.walked += 2 + len(disjunct.alternatives) + len(disjunct.writes)
        if application.run(summary):
            note_summary(ctx, state, row, values, summary, disjunct)
            states.append(state)
    if len(states) > 1 and row.result in ctx.flow.unread:
        for value in _perhaps_kept(values, disjuncts):
            for state in states:
                memory.escape(ctx, state, value)
    return states


def _perhaps_kept(values: list[Value], disjuncts: list[Disjunct]) -> list[Value]:
    """Arguments that the callee keeps, unless it says otherwise in its result.

    Who does not ask knows the answer: a key that was looked for before, say, is not
    yet in the tree.
    """
    kept = {
        value[0][1]
        for d in disjuncts
        for value in (*d.escapes, *(write.value for write in d.writes))
        if not isinstance(value, int) and value[0][0] == "arg"
    }
    return [values[index] for index in sorted(kept) if index < len(values)]


# A behaviour with so few alternatives is applied once for each of them.
_FEW_ALTERNATIVES = 3


def _apart(ctx: Context, disjuncts: tuple[Disjunct, ...]) -> list[Disjunct]:
    """One behaviour for each reason: of those that do nothing, or all in a replay."""
    found: list[Disjunct] = []
    for d in disjuncts:
        idle = not (d.frees or d.allocations or d.escapes)
        few = idle and len(d.alternatives) <= _FEW_ALTERNATIVES
        if (few or ctx.replaying) and len(d.alternatives) > 1:
            found.extend(replace(d, alternatives=(one,)) for one in d.alternatives)
        else:
            found.append(d)
    return found


def _bring_about(
    ctx: Context, s: State, latent: Latent, row: Call | Invoke, values: list[Value]
) -> None:
    """Report the callee's defect if this call can meet its conditions."""
    state = s.copy()
    application = Application(ctx, state, row, values, Disjunct(), -1)
    if application.assume_conditions(latent.conditions):
        report(ctx, state, Kind.LOST, -1, row.location, latent=latent.identity)
