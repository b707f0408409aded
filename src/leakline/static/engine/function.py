"""One function from facts to summary and confirmed defects."""

from collections.abc import Callable
from dataclasses import dataclass

from leakline.model.finding import Kind
from leakline.static.engine.context import Context, Options, Surroundings
from leakline.static.engine.control import flow_of
from leakline.static.engine.defects import Brought, Defect, Partners
from leakline.static.engine.explain import (
    argument_conditions,
    brought_by,
    defect_of,
)
from leakline.static.engine.findings import Candidate
from leakline.static.engine.replay import Replay, replaying
from leakline.static.engine.summarise import summarise
from leakline.static.engine.summary import Latent, Summary
from leakline.static.engine.walk import walk
from leakline.static.facts import Function, Unit
from leakline.static.solver import Query, Verdict

SOLVER_CRASHED = "the solver crashed, so that a suspicion could not be confirmed"

# A function with more candidates than this is odd; the rest is not confirmed.
_MOST_CANDIDATES = 24
# Confirming all of a function's candidates may cost as much as so many long replays.
_MOST_REPLAYED = 4


@dataclass(frozen=True, slots=True)
class Checked:
    """What is known about one function.

    Attributes:
        taint: Why it was not fully analysed; empty when it was.
        unseen: Why it could not be judged at all; empty when it could.
        walked: Instructions walked, replays included.
    """

    summary: Summary
    defects: tuple[Defect, ...] = ()
    partners: tuple[Partners, ...] = ()
    brought: tuple[Brought, ...] = ()
    taint: str = ""
    unseen: str = ""
    walked: int = 0


def check_function(
    function_id: str,
    unit: Unit,
    function: Function,
    surroundings: Surroundings,
    options: Options,
    ask: Callable[[Query], Verdict],
) -> Checked:
    """Walk a function, confirm what looks wrong, and summarise it."""
    if function.instructions > options.most_instructions:
        reason = (
            f"it has {function.instructions:,} instructions, and no more than "
            f"{options.most_instructions:,} are followed"
        )
        summary = unknown_summary(function_id, function)
        return Checked(summary, taint="too large", unseen=reason)
    body = function.body()
    flow = flow_of(function, body)
    ctx = Context(function_id, unit, function, body, flow, surroundings, options)
    result = walk(ctx)
    defects, brought, latent, replayed = _confirm(ctx, ask)
    if result.complete:
        summary = summarise(ctx, result.exits, latent)
    else:
        summary = unknown_summary(function_id, function)
    taint = "; ".join(sorted(ctx.taints))
    return Checked(
        summary=summary,
        defects=defects,
        partners=tuple(ctx.partners),
        brought=brought,
        taint=taint,
        unseen=SOLVER_CRASHED if SOLVER_CRASHED in ctx.taints else "",
        walked=ctx.walked + replayed,
    )


def unknown_summary(function_id: str, function: Function) -> Summary:
    """A function of which callers must expect anything."""
    return Summary(function_id, function.display, known=False)


def _confirm(
    ctx: Context, ask: Callable[[Query], Verdict]
) -> tuple[tuple[Defect, ...], tuple[Brought, ...], tuple[Latent, ...], int]:
    defects: list[Defect] = []
    brought: list[Brought] = []
    latent: list[Latent] = []
    walked = 0
    for candidate in list(ctx.candidates.values())[:_MOST_CANDIDATES]:
        if not _wanted(ctx, candidate):
            continue
        if walked > _MOST_REPLAYED * ctx.options.replay_instructions:
            ctx.taint("too many suspicions to confirm all of them")
            break
        replay = Replay(replaying(ctx, candidate), candidate, ask)
        met = replay.confirm()
        walked += replay.ctx.walked
        if met is None:
            if replay.crashed:
                ctx.taint(SOLVER_CRASHED)
            continue
        conditions = argument_conditions(replay.ctx, met.state)
        if met.latent:
            identity = met.latent
            brought.append(brought_by(replay.ctx, met))
        else:
            identity = f"{ctx.function_id} {_key_text(met)}"
            defects.append(defect_of(replay.ctx, met, identity))
        if conditions:
            latent.append(Latent(identity, conditions))
    return tuple(defects), tuple(brought), tuple(latent), walked


def _wanted(ctx: Context, candidate: Candidate) -> bool:
    if candidate.kind is Kind.NULL_DEREFERENCE:
        return ctx.options.null_dereference
    return True


def _key_text(candidate: Candidate) -> str:
    return repr(candidate.key)
