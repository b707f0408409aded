"""Turns merged groups into findings: named stacks, fingerprints, ranking order."""

from dataclasses import replace

from leakline.dynamic.fingerprint import Fingerprints
from leakline.dynamic.hints import Hints
from leakline.dynamic.idleness import with_idleness
from leakline.dynamic.merge import GroupKey, Groups, HeapGroup
from leakline.dynamic.sites import birth_at_site, loss_at_site
from leakline.dynamic.slots import slot_in_freed, slot_of_store
from leakline.dynamic.stacks import StackBuilder
from leakline.dynamic.touches import with_touches
from leakline.model.finding import (
    Cause,
    Confidence,
    Engine,
    Finding,
    Kind,
    Loss,
    Precision,
)
from leakline.model.stack import Stack
from leakline.recording._format import Cause as LossCause


def make_findings(groups: Groups, builder: StackBuilder) -> tuple[Finding, ...]:
    """The findings of groups, largest first; equal input gives equal output."""
    keys = list(groups)
    named: dict[str, list[GroupKey]] = {}
    for name, key in zip(Fingerprints(builder).name_all(keys), keys, strict=True):
        named.setdefault(name, []).append(key)
    hints = Hints(builder)
    made = [
        _finding(name, *_added_up(alike, groups, builder), hints)
        for name, alike in named.items()
    ]
    return tuple(sorted(made, key=_rank))


def _added_up(
    keys: list[GroupKey], groups: Groups, builder: StackBuilder
) -> tuple[GroupKey, HeapGroup]:
    """Groups of one name differ in recursion only; the shortest stack stands for all."""
    if len(keys) == 1:
        return keys[0], groups[keys[0]]
    total = HeapGroup()
    for key in keys:
        total.add(groups[key])
    total.notes.append(
        f"Added up over {len(keys)} call stacks that differ in their recursion only."
    )
    shortest = min(keys, key=lambda key: (len(builder.calls(key.stack)), key.stack))
    return shortest, total


def _finding(name: str, key: GroupKey, group: HeapGroup, hints: Hints) -> Finding:
    builder = hints.builder
    loss = _loss(key, hints)
    finding = Finding(
        id=name,
        engines=(Engine.REACH, Engine.LOSS) if loss else (Engine.REACH,),
        kind=key.kind,
        confidence=Confidence.EXACT,
        blocks=group.blocks,
        bytes=group.bytes,
        allocation=builder.stack(key.stack),
        indirect_blocks=group.indirect_blocks,
        indirect_bytes=group.indirect_bytes,
        leader=builder.stack(key.leader) if key.leader else None,
        birth=birth_at_site(key.loss, builder) if key.loss else None,
        loss=loss,
        processes=tuple(sorted(group.pids)),
        notes=(*group.notes, *_loss_notes(loss)),
    )
    if group.idle is not None:
        finding = with_idleness(finding, group.idle)
    if group.touches is not None:
        finding = with_touches(finding, group.touches, builder)
    return finding


_CAUSES = {
    LossCause.OVERWRITTEN: Cause.OVERWRITTEN,
    LossCause.CONTAINER_FREED: Cause.CONTAINER_FREED,
    LossCause.UNMAPPED: Cause.UNMAPPED,
    LossCause.THREAD_EXIT: Cause.THREAD_EXIT,
}


def _loss(key: GroupKey, hints: Hints) -> Loss | None:
    if key.cause == LossCause.NOT_IN_MEMORY:
        unknown = Loss(Cause.OUT_OF_SCOPE, Stack(), precision=Precision.PROBABLE)
        return hints.loss(key.stack) or unknown
    if key.cause == LossCause.SITE:
        return loss_at_site(key.loss, hints.builder)
    cause = _CAUSES.get(key.cause)
    if cause is None or not key.loss:
        return None
    stack = hints.builder.stack(key.loss)
    if cause is Cause.THREAD_EXIT and stack.frames:
        # The thread's function is known, not where in it the thread ended.
        first = replace(stack.frames[0], line=0, column=0)
        stack = replace(stack, frames=(first, *stack.frames[1:]))
        return Loss(cause, stack, None, Precision.FUNCTION)
    return Loss(cause, stack, _slot(key, cause, hints))


def _slot(key: GroupKey, cause: Cause, hints: Hints) -> str | None:
    """The slot that held the last reference in memory."""
    calls = hints.builder.calls(key.loss)
    if not calls or not calls[0].address:
        return None
    place = hints.builder.table.addresses[calls[0].address]
    if cause is Cause.OVERWRITTEN:
        return slot_of_store(hints.reader, place)
    if cause is Cause.CONTAINER_FREED:
        return slot_in_freed(hints.reader, place, key.loss_offset)
    return None


def _loss_notes(loss: Loss | None) -> tuple[str, ...]:
    if loss is None or loss.precision is not Precision.PROBABLE:
        return ()
    seen = "no store that was seen overwrote a reference to it"
    if loss.stack.frames:
        return (f"{seen}; the variable is concluded from the code, not seen",)
    return (
        (
            f"{seen}: probably a local variable or register held it, which went out of"
            " scope, or nobody kept the result"
        ),
    )


def _rank(finding: Finding) -> tuple[int, str, str, int]:
    size = finding.bytes + finding.indirect_bytes
    return (-size, finding.kind.value, finding.id, len(finding.allocation.frames))


def hidden_totals(groups: Groups, kinds: frozenset[Kind]) -> tuple[Finding, ...]:
    """One finding without a stack for each kind that is not shown."""
    totals: dict[Kind, HeapGroup] = {}
    for key, group in groups.items():
        if key.kind in kinds:
            totals.setdefault(key.kind, HeapGroup()).add(group)
    return tuple(
        Finding(
            id=f"all-{kind.value.replace(' ', '-')}",
            engines=(Engine.REACH if total.idle is None else Engine.PAGES,),
            kind=kind,
            confidence=Confidence.EXACT,
            blocks=total.blocks,
            bytes=total.bytes,
            allocation=Stack(),
            processes=tuple(sorted(total.pids)),
        )
        for kind, total in sorted(totals.items(), key=lambda item: item[0].value)
    )
