"""What to do about a finding: the change, why it is safe there, what to check first.

Only evidence that the finding carries is used; where it is thin, the words say so.
"""

from dataclasses import dataclass

from leakline.model.finding import Cause, Engine, Finding, Kind, Precision
from leakline.model.stack import Frame, Stack
from leakline.reports import source_evidence
from leakline.reports.calls import label
from leakline.reports.headlines import allocating_frame, frame_with_file
from leakline.reports.quantities import bytes_in_words, plural
from leakline.reports.sarif_rules import RULES
from leakline.reports.spots import Spots

# The change for each way in which the last reference goes.
_ACTIONS = {
    Cause.OVERWRITTEN: "Release {what}{how} before {where} overwrites the reference.",
    Cause.OUT_OF_SCOPE: "Release {what}{how} before `{function}` leaves at {where}.",
    Cause.CONTAINER_FREED: "Release {what}{how} before {where} frees the block that "
    "holds the last reference.",
    Cause.NEVER_STORED: "Keep the result of the call at {where}, and release it{how}.",
    Cause.THREAD_EXIT: "Release {what}{how} before the thread ends at {where}.",
    Cause.UNMAPPED: "Release {what}{how} before {where} unmaps what refers to it.",
}
# What is to be released, when the slot of the reference has a name.
_WHAT = dict.fromkeys(Cause, "`{slot}`") | {
    Cause.OVERWRITTEN: "what `{slot}` points to"
}


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A proposed change.

    Attributes:
        action: The change, as a sentence.
        reasons: Why it is safe at that place.
        checks: What must be looked at before.
    """

    action: str
    reasons: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()


def suggest(finding: Finding, spots: Spots) -> Suggestion:
    """The change that mends the finding, as far as its evidence tells."""
    match finding.kind:
        case Kind.LOST:
            return _release(finding, spots)
        case Kind.INDIRECT:
            return _release_leader(finding, spots)
        case Kind.REACHABLE | Kind.STALE | Kind.NEVER_USED:
            return _let_go(finding, spots)
        case _:
            return Suggestion(finding.advice or RULES[finding.kind].help)


def _release(finding: Finding, spots: Spots) -> Suggestion:
    return Suggestion(
        finding.advice or _action(finding, spots),
        (
            *_reasons(finding, spots),
            *source_evidence.reasons(finding, spots),
            *_siblings(finding, spots),
        ),
        (*source_evidence.checks(finding, spots), *_checks(finding)),
    )


def _action(finding: Finding, spots: Spots) -> str:
    loss = finding.loss
    frame = frame_with_file(loss.stack) if loss else None
    if loss is None or frame is None:
        return _without_place(finding, spots)
    return _ACTIONS[loss.cause].format(
        what=_WHAT[loss.cause].format(slot=loss.slot) if loss.slot else "it",
        how=_release_function(finding),
        where=spots.place(frame),
        function=label(frame),
    )


def _without_place(finding: Finding, spots: Spots) -> str:
    frame = allocating_frame(finding)
    if frame is None:
        return "Nothing is known of where it was allocated: run it with debug symbols."
    holders = [label(one) for one in spots.own_frames(finding.allocation)[:4]]
    callers = ", ".join(f"`{name}`" for name in dict.fromkeys(holders))
    return (
        f"Follow the result of the allocation at {spots.place(frame)} through {callers}: "
        "the one that neither keeps nor passes it on has to release it"
        f"{_release_function(finding)}. Lens loss (--lens loss) or `leakline check` may "
        "name the place."
    )


def _release_function(finding: Finding) -> str:
    """The function that releases such blocks elsewhere, as words to append.

    One that also allocated or lost the block works with it; that is not its purpose.
    """
    if finding.release:
        return f" with `{finding.release}`"
    stacks = [finding.allocation, *([finding.loss.stack] if finding.loss else [])]
    users = {frame.function for stack in stacks for frame in stack.frames}
    for stack in finding.sibling_frees:
        frame = frame_with_file(stack)
        if frame and frame.function and frame.function not in users:
            return f" with `{label(frame)}`"
    return ""


def _reasons(finding: Finding, spots: Spots) -> tuple[str, ...]:
    reasons = []
    loss = finding.loss
    is_run = finding.engines != (Engine.STATIC,)
    is_event = loss and loss.stack.frames and loss.cause is not Cause.OUT_OF_SCOPE
    if is_event and is_run:
        where = "" if loss and loss.variables_seen else " in memory"
        reasons.append(
            f"In the run that was the last reference{where}: nothing that is stored "
            "anywhere could still lead to the block."
        )
    if Engine.STATIC in finding.engines:
        reasons.append(
            "The checker followed the path to that line and found nothing that still "
            "refers to the block there."
        )
    used = frame_with_file(finding.last_access) if finding.last_access else None
    if used:
        reasons.append(f"The last use that was seen came before: {spots.place(used)}.")
    return tuple(reasons)


def _siblings(finding: Finding, spots: Spots) -> tuple[str, ...]:
    places = [spots.place(one) for one in _freeing_frames(finding)]
    if not places:
        return ()
    return (f"Blocks from the same place are released at {', '.join(places)}.",)


def _freeing_frames(finding: Finding) -> list[Frame]:
    frames = (frame_with_file(stack) for stack in finding.sibling_frees)
    return [frame for frame in frames if frame]


def _checks(finding: Finding) -> tuple[str, ...]:
    checks = []
    if finding.loss and finding.loss.precision is Precision.PROBABLE:
        checks.append("That function is concluded from its code; nobody saw the loss.")
    if finding.indirect_blocks:
        size = bytes_in_words(finding.indirect_bytes)
        blocks = plural(finding.indirect_blocks, "block")
        checks.append(
            f"The block leads to {size} in {blocks} more: release those first, or with "
            "a function that releases the whole structure."
        )
    loss = finding.loss
    if loss and loss.cause in {Cause.OVERWRITTEN, Cause.CONTAINER_FREED}:
        checks.append(
            "On other paths the same place may hold a pointer that something else still "
            "uses: release only what is owned there."
        )
        if not loss.variables_seen:
            checks.append(
                "A local variable of a calling function may still hold the address: it "
                "must not be used after the release."
            )
    if finding.last_access is None and Engine.STATIC not in finding.engines:
        checks.append("The last use was not recorded: look for uses after that line.")
    return tuple(checks)


def _release_leader(finding: Finding, spots: Spots) -> Suggestion:
    leader = finding.leader
    frame = _frame_of(leader) if leader else None
    where = f", allocated at {spots.place(frame)}," if frame else ""
    return Suggestion(
        f"Mend the leak of the block that leads here{where} and release this one with "
        "it, before it.",
        _siblings(finding, spots),
    )


def _frame_of(stack: Stack) -> Frame | None:
    return frame_with_file(stack) or next(iter(stack.frames), None)


def _let_go(finding: Finding, spots: Spots) -> Suggestion:
    used = frame_with_file(finding.last_access) if finding.last_access else None
    after = f" after its last use at {spots.place(used)}" if used else ""
    if finding.kind is Kind.NEVER_USED:
        return Suggestion("Allocate it when it is first needed, or not at all.")
    if finding.kind is Kind.STALE:
        return Suggestion(
            f"Remove it from {_holder(finding, 'it')}{after}, and release it.",
            _siblings(finding, spots),
            ("Something may still want it: such blocks are unused, not lost.",),
        )
    return Suggestion(
        "Nothing has to be done if the block lives as long as the program. If there are "
        f"more of them with more work, remove them from {_holder(finding, 'them')} and "
        "release them when they are done.",
        _siblings(finding, spots),
    )


def _holder(finding: Finding, blocks: str) -> str:
    """What refers to a block that is not lost."""
    slots = (reference.slot for reference in finding.references)
    names = list(dict.fromkeys(f"`{slot}`" for slot in slots if slot))
    return " and ".join(names) or f"what still refers to {blocks}"
