"""Defects as the walk meets them, before they are confirmed."""

from dataclasses import dataclass
from typing import Any

from leakline.model.finding import Cause, Kind
from leakline.static.engine.context import Context
from leakline.static.engine.state import State


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened on a replayed path.

    Attributes:
        action: allocated, resized, given, freed or lost, of an object; branch, switch,
            called, result or thrown.
        location: Index of the place in the function's locations.
        subject: The object concerned, -1 for none.
        detail: What the words are made of; depends on the action.
    """

    action: str
    location: int
    subject: int = -1
    detail: Any = None


@dataclass(frozen=True, slots=True)
class Drop:
    """A reference to an object that went away.

    Attributes:
        slot: Name of the variable or place that held it, None when it has none.
        is_global: The place is, or lies in, a global variable.
        is_by_callee: A function that was called overwrote it.
    """

    cause: Cause
    location: int
    slot: str | None
    is_global: bool = False
    is_by_callee: bool = False


@dataclass(frozen=True, slots=True)
class Candidate:
    """A defect to be confirmed.

    Attributes:
        key: Tells candidates of one function apart.
        kind: What is wrong.
        base: The object.
        location: Where it shows.
        trail: The blocks walked to there.
        drop: For leaks, the reference whose end lost the object.
        state: The state when it showed.
        latent: Identity of the callee's defect that this call brings about.
    """

    key: tuple[Any, ...]
    kind: Kind
    base: int
    location: int
    trail: Any
    drop: Drop | None
    state: State
    latent: str = ""


def report(
    ctx: Context,
    s: State,
    kind: Kind,
    base: int,
    location: int,
    *,
    drop: Drop | None = None,
    latent: str = "",
) -> None:
    """Remember a candidate; the first of each key wins."""
    key = candidate_key(ctx, kind, base, location, latent)
    if key not in ctx.candidates:
        ctx.candidates[key] = Candidate(
            key, kind, base, location, s.trail, drop, s.copy(), latent
        )


def candidate_key(
    ctx: Context, kind: Kind, base: int, location: int, latent: str
) -> tuple[Any, ...]:
    """Leaks are told apart by where the object came from, others by where they show."""
    if latent:
        return ("latent", latent)
    if kind is Kind.LOST:
        return (kind.value, ctx.terms.keys[base][1])
    return (kind.value, location)


def record(ctx: Context, s: State, event: Event) -> None:
    """Add an event to a replayed path."""
    if ctx.replaying:
        s.events = (s.events, event)
