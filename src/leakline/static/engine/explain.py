"""Turns a confirmed path into the steps and words of a defect."""

from typing import Any

from leakline.model.finding import Cause, Kind
from leakline.static.engine.context import Context
from leakline.static.engine.defects import Brought, Defect, Ending, Handing, Step
from leakline.static.engine.findings import Candidate, Event
from leakline.static.engine.naming import Namer, nameable
from leakline.static.engine.places import place_of
from leakline.static.engine.releases import other_paths
from leakline.static.engine.state import State
from leakline.static.engine.summary import Allocation, Conditions, Disjunct, Place
from leakline.static.engine.words import (
    condition_words,
    range_words,
    slot_name,
    spoken,
    variable_name,
)

_MOST_STEPS = 40
# Branches before the allocation that are worth showing.
_STEPS_BEFORE = 3
_MOST_HANDINGS = 12


def defect_of(ctx: Context, met: Candidate, identity: str) -> Defect:
    """The defect that a confirmed candidate is."""
    allocation = _allocation(met)
    conditions = argument_conditions(ctx, met.state)
    return Defect(
        identity=identity,
        kind=met.kind,
        function=ctx.function_id,
        place=place_of(ctx, met.location),
        allocation=allocation,
        steps=_steps(ctx, met),
        ending=_ending(ctx, met),
        holder=_holder(ctx, met),
        when=_when(ctx, met.state),
        manifest=not conditions,
        handings=_handings(ctx, met),
        other_paths=None if allocation is None else other_paths(ctx, met, allocation),
    )


def _handings(ctx: Context, met: Candidate) -> tuple[Handing, ...]:
    """The calls that were given the object; the same call in a loop counts once."""
    found = (
        Handing(place_of(ctx, event.location), *event.detail)
        for event in _events(met.state)
        if event.action == "given" and event.subject == met.base
    )
    return tuple(dict.fromkeys(found))[:_MOST_HANDINGS]


def _allocation(met: Candidate) -> Allocation | None:
    """How the object came to be on this path; None when a caller passed it."""
    for event in reversed(_events(met.state)):
        if event.action == "allocated" and event.subject == met.base:
            made: Allocation = event.detail
            return made
    return None


def brought_by(ctx: Context, met: Candidate) -> Brought:
    """The call that brings about a callee's defect."""
    return Brought(
        identity=met.latent,
        function=ctx.function_id,
        steps=_steps(ctx, met),
        manifest=not argument_conditions(ctx, met.state),
    )


def argument_conditions(ctx: Context, s: State) -> Conditions:
    """What the path asks of the function's arguments."""
    namer = Namer(ctx)
    found = []
    for base, known in s.ranges.items():
        if nameable(ctx, base):
            name = namer.base(base)
            if _from_argument(name):
                found.append((name, known))
    return tuple(found)


def _from_argument(name: Any) -> bool:  # noqa: ANN401  # names nest
    if not isinstance(name, tuple):
        return False
    return name[:1] == ("arg",) or any(_from_argument(part) for part in name)


def _when(ctx: Context, s: State) -> tuple[str, ...]:
    found = []
    for base, known in s.ranges.items():
        key = ctx.terms.keys[base]
        if key[0] in ("arg", "cell") and nameable(ctx, base):
            text = spoken(ctx, (base, 0))
            if text is not None:
                found.append(range_words(f"`{text}`", known))
    return tuple(found)


def _ending(ctx: Context, met: Candidate) -> Ending | None:
    if met.drop is None:
        return None
    slot = met.drop.slot
    if slot is None and met.drop.cause is Cause.OUT_OF_SCOPE:
        slot = _holder(ctx, met) or None
    place = place_of(ctx, met.drop.location)
    is_global, is_by_callee = met.drop.is_global, met.drop.is_by_callee
    return Ending(met.drop.cause, place, slot, is_global, is_by_callee)


def _holder(ctx: Context, met: Candidate) -> str:
    if met.drop is not None and met.drop.slot:
        return met.drop.slot
    for variable, base in met.state.variables.items():
        if base == met.base:
            return variable_name(ctx, variable)
    for pointer, target in met.state.holders.items():
        if target == met.base:
            return slot_name(ctx, pointer) or ""
    return ""


def _steps(ctx: Context, met: Candidate) -> tuple[Step, ...]:
    events = _events(met.state)
    born = next(
        (
            index
            for index, event in enumerate(events)
            if event.action == "allocated" and event.subject == met.base
        ),
        0,
    )
    steps: list[Step] = []
    for index, event in enumerate(events):
        if index >= born - _STEPS_BEFORE:
            steps.extend(_step(ctx, event, met))
    if met.kind is not Kind.LOST or met.latent:
        steps.append(Step(place_of(ctx, met.location), _verdict(met)))
    if len(steps) > _MOST_STEPS:
        half = _MOST_STEPS // 2
        steps = [*steps[:half], *steps[-half:]]
    return tuple(steps)


def _events(s: State) -> list[Event]:
    found = []
    link = s.events
    while link is not None:
        link, event = link
        found.append(event)
    return found[::-1]


_VERDICTS = {
    Kind.DOUBLE_FREE: "freed again here",
    Kind.USE_AFTER_FREE: "used here after it was freed",
    Kind.MISMATCHED_RELEASE: "released here by a function of another family",
    Kind.NULL_DEREFERENCE: "used here although it may be null",
}


def _verdict(met: Candidate) -> str:
    return "this call leads to the leak" if met.latent else _VERDICTS[met.kind]


def _step(ctx: Context, event: Event, met: Candidate) -> list[Step]:
    place = place_of(ctx, event.location)
    match event.action:
        case "branch":
            return [Step(place, _branch(ctx, *event.detail))]
        case "switch":
            return [Step(place, _switch(ctx, *event.detail))]
        case "called":
            return _called(ctx, place, *event.detail)
        case "thrown":
            return [Step(place, "an exception is thrown here")]
        case "result":
            name, result = event.detail
            words = "returns null" if result == 0 else "fails"
            return [Step(place, f"`{name}()` {words}")]
        case _:
            return _life(ctx, event, met) if event.subject == met.base else []


def _life(ctx: Context, event: Event, met: Candidate) -> list[Step]:
    """What happened to the object itself."""
    place = place_of(ctx, event.location)
    match event.action:
        case "allocated":
            return _allocated(event.detail)
        case "resized":
            return [Step(place, f"resized here by `{event.detail}()`")]
        case "freed":
            return [Step(place, "freed here")]
        case "lost":
            return _lost(ctx, event, met)
        case _:
            return []


def _allocated(allocation: Allocation) -> list[Step]:
    first, *calls = allocation.places
    steps = [Step(first, f"allocated here by `{allocation.allocator}()`")]
    steps.extend(Step(place, "handed on by this call") for place in calls)
    return steps


def _branch(ctx: Context, condition: Any, truth: bool) -> str:  # noqa: ANN401
    words = condition_words(ctx, condition, truth=truth)
    text = f"taking the {'true' if truth else 'false'} branch"
    return f"{text}: {words}" if words else text


def _switch(ctx: Context, value: Any, number: int | None) -> str:  # noqa: ANN401
    if number is None:
        return "taking the default case"
    text = spoken(ctx, value)
    return f"taking case {number}" + (f": {text} is {number}" if text else "")


def _called(
    ctx: Context, place: Place, display: str, disjunct: Disjunct, behaviours: int
) -> list[Step]:
    """Say what the call returns where that decides the path."""
    del ctx
    result = disjunct.result
    if disjunct.throws is not None:
        return [Step(place, f"`{display.partition('(')[0]}()` throws an exception")]
    if behaviours < 2 or not isinstance(result, int):  # noqa: PLR2004  # one is no choice
        return []
    return [Step(place, f"`{display}()` returns {result}")]


_CAUSES = {
    Cause.OVERWRITTEN: "lost here: {slot} is overwritten",
    Cause.OUT_OF_SCOPE: "lost here: {slot} goes out of scope",
    Cause.CONTAINER_FREED: "lost here: the object that pointed to it is freed",
    Cause.NEVER_STORED: "lost here: nothing keeps the result",
}


def _lost(ctx: Context, event: Event, met: Candidate) -> list[Step]:
    cause = event.detail.cause
    slot = event.detail.slot or _holder(ctx, met)
    text = _CAUSES[cause].format(slot=f"`{slot}`" if slot else "its last reference")
    return [Step(place_of(ctx, event.location), text)]
