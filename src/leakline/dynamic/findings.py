"""Turns merged groups into findings: named stacks, fingerprints, ranking order."""

from dataclasses import replace

from leakline.dynamic.fingerprint import Fingerprints, numbered
from leakline.dynamic.merge import GroupKey, Groups, HeapGroup
from leakline.dynamic.stacks import StackBuilder
from leakline.model.finding import Confidence, Engine, Finding, Kind
from leakline.model.stack import Stack


def make_findings(groups: Groups, builder: StackBuilder) -> tuple[Finding, ...]:
    """The findings of groups, largest first; equal input gives equal output."""
    made = [_finding(key, group, builder) for key, group in groups.items()]
    prints = Fingerprints()
    names = [prints.make(one.kind, (one.allocation, one.leader)) for one in made]
    ids = numbered(names)
    named = [
        replace(finding, id=ids[name])
        for finding, name in zip(made, names, strict=True)
    ]
    return tuple(sorted(named, key=_rank))


def _finding(key: GroupKey, group: HeapGroup, builder: StackBuilder) -> Finding:
    allocation = builder.stack(key.stack)
    leader = builder.stack(key.leader) if key.leader else None
    return Finding(
        id="",
        engines=(Engine.REACH,),
        kind=key.kind,
        confidence=Confidence.EXACT,
        blocks=group.blocks,
        bytes=group.bytes,
        allocation=allocation,
        indirect_blocks=group.indirect_blocks,
        indirect_bytes=group.indirect_bytes,
        leader=leader,
        processes=tuple(sorted(group.pids)),
        notes=tuple(group.notes),
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
            engines=(Engine.REACH,),
            kind=kind,
            confidence=Confidence.EXACT,
            blocks=total.blocks,
            bytes=total.bytes,
            allocation=Stack(),
            processes=tuple(sorted(total.pids)),
        )
        for kind, total in sorted(totals.items(), key=lambda item: item[0].value)
    )
