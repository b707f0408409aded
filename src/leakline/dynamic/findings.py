"""Turns merged groups into findings: named stacks, fingerprints, ranking order."""

from collections.abc import Mapping

from leakline.dynamic.fingerprint import Fingerprints
from leakline.dynamic.idleness import with_idleness
from leakline.dynamic.losses import Losses
from leakline.dynamic.merge import GroupKey, Groups, HeapGroup
from leakline.dynamic.references import References
from leakline.dynamic.sites import birth_at_site, birth_stack
from leakline.dynamic.stacks import StackBuilder
from leakline.dynamic.touches import with_touches
from leakline.dynamic.traces import Trace, TraceKey
from leakline.model.finding import (
    Cause,
    Confidence,
    Engine,
    Finding,
    Kind,
    Loss,
    Reference,
)
from leakline.model.stack import Stack
from leakline.recording._format import Cause as LossCause

_BIRTH_UNSEEN = "where the last reference was created was not seen"


def make_findings(
    groups: Groups,
    builder: StackBuilder,
    traces: Mapping[TraceKey, Trace] | None = None,
) -> tuple[Finding, ...]:
    """The findings of groups, largest first; equal input gives equal output.

    Args:
        groups: Blocks, by what they have in common.
        builder: Names their stacks.
        traces: What a second run saw.
    """
    keys = list(groups)
    named: dict[str, list[GroupKey]] = {}
    for name, key in zip(Fingerprints(builder).name_all(keys), keys, strict=True):
        named.setdefault(name, []).append(key)
    losses = Losses(builder, traces or {})
    made = [
        _finding(name, *_added_up(alike, groups, builder), losses)
        for name, alike in named.items()
    ]
    return tuple(sorted(made, key=_rank))


def _added_up(
    keys: list[GroupKey], groups: Groups, builder: StackBuilder
) -> tuple[list[GroupKey], HeapGroup]:
    """Groups of one name read the same; the one with the shortest stack comes first."""
    if len(keys) == 1:
        return keys, groups[keys[0]]
    total = HeapGroup()
    for key in keys:
        total.add(groups[key])
    stacks = len({(key.stack, key.leader) for key in keys})
    if stacks > 1:
        total.notes.append(
            f"Added up over {stacks} call stacks that differ in their recursion only."
        )
    ordered = sorted(
        keys, key=lambda key: (len(builder.calls(key.stack)), -groups[key].bytes, key)
    )
    return ordered, total


def _finding(
    name: str, keys: list[GroupKey], group: HeapGroup, losses: Losses
) -> Finding:
    builder = losses.builder
    key = keys[0]
    loss, path, notes, birth = losses.explain_all(keys, group.birth)
    if birth is None and not _is_behind_memory(key, loss):
        birth = _birth(key, group, builder)
    if birth is None and group.has_births and _had_birth(loss):
        notes = (*notes, _BIRTH_UNSEEN)
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
        birth=birth,
        loss=loss,
        references=_references(key, group, losses),
        processes=tuple(sorted(group.pids)),
        path=path,
        notes=(*group.notes, *notes),
    )
    if group.idle is not None:
        finding = with_idleness(finding, group.idle, builder)
    if group.touches is not None:
        finding = with_touches(finding, group.touches, builder)
    return finding


def _references(
    key: GroupKey, group: HeapGroup, losses: Losses
) -> tuple[Reference, ...]:
    if not group.slots:
        return ()
    return References(losses.builder, losses.reader).describe(group.slots, key.stack)


def _birth(key: GroupKey, group: HeapGroup, builder: StackBuilder) -> Stack | None:
    if group.birth:
        return birth_stack(group.birth, builder)
    return birth_at_site(key.loss, builder) if key.loss else None


def _is_behind_memory(key: GroupKey, loss: Loss | None) -> bool:
    """Whether a variable held the blocks longer than the slot whose birth is known."""
    is_variable = loss is not None and loss.cause is Cause.OUT_OF_SCOPE
    return is_variable and key.cause is not LossCause.SITE


def _had_birth(loss: Loss | None) -> bool:
    """What was never stored has none."""
    return loss is not None and loss.cause is not Cause.NEVER_STORED


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
