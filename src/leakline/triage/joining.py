"""Makes one report of several.

Runs are added up, and what the checker found in the source is joined with what a run
lost.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from leakline.model.finding import Confidence, Engine, Finding, Loss, Precision
from leakline.model.report import Coverage, LensState, Report, Run
from leakline.triage.same_leak import best_match

_STATE_ORDER = (LensState.ACTIVE, LensState.UNAVAILABLE, LensState.OFF)

_EXACT_LINES = frozenset({Precision.EXACT, Precision.LINE_TABLE})


def join(reports: Sequence[Report]) -> Report:
    """The findings of all reports, each leak once; `reports` holds at least one."""
    if len(reports) == 1:
        return reports[0]
    findings = _added_up([one for report in reports for one in report.findings])
    first = next((one for one in reports if one.run.processes), reports[0])
    return replace(
        first,
        run=_joined_run([report.run for report in reports], first.run),
        findings=join_engines(findings),
        suppressed=tuple(one for report in reports for one in report.suppressed),
        unused_suppressions=tuple(
            dict.fromkeys(one for all_ in reports for one in all_.unused_suppressions)
        ),
        hidden=tuple(_added_up([one for report in reports for one in report.hidden])),
        comparison=None,
    )


def join_engines(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Joins each leak of a run with what the checker says of the same leak."""
    from_source = [one for one in findings if one.engines == (Engine.STATIC,)]
    if len(from_source) in {0, len(findings)}:
        return tuple(findings)
    used: set[str] = set()
    joined = []
    for finding in findings:
        if finding.engines == (Engine.STATIC,):
            continue
        match = best_match(finding, from_source)
        if match is not None:
            used.add(match.id)
            joined.append(_confirmed(finding, match))
        else:
            joined.append(finding)
    return (*joined, *(one for one in from_source if one.id not in used))


def _confirmed(seen: Finding, checked: Finding) -> Finding:
    """The run's counts and evidence with the checker's path and advice."""
    loss = seen.loss
    if checked.loss is not None and (loss is None or not _is_line_known(loss)):
        loss = checked.loss
    return replace(
        seen,
        engines=(*seen.engines, Engine.STATIC),
        confidence=Confidence.EXACT,
        loss=loss,
        path=checked.path or seen.path,
        handovers=checked.handovers or seen.handovers,
        other_paths=checked.other_paths or seen.other_paths,
        release=seen.release or checked.release,
        notes=(*seen.notes, *(one for one in checked.notes if one not in seen.notes)),
        advice=seen.advice or checked.advice,
        other_ids=(*seen.other_ids, checked.id),
    )


def _is_line_known(loss: Loss) -> bool:
    return bool(loss.stack.frames) and loss.precision in _EXACT_LINES


def _added_up(findings: Sequence[Finding]) -> list[Finding]:
    """One finding for each fingerprint, in the order of first appearance."""
    sums: dict[str, Finding] = {}
    for finding in findings:
        before = sums.get(finding.id)
        sums[finding.id] = finding if before is None else _sum(before, finding)
    return list(sums.values())


def _sum(one: Finding, other: Finding) -> Finding:
    """Both counts; a path through the source is the same path in every check."""
    if one.engines == other.engines == (Engine.STATIC,):
        return one
    return replace(
        one,
        engines=tuple(dict.fromkeys((*one.engines, *other.engines))),
        confidence=min(one.confidence, other.confidence, key=list(Confidence).index),
        blocks=one.blocks + other.blocks,
        bytes=one.bytes + other.bytes,
        indirect_blocks=one.indirect_blocks + other.indirect_blocks,
        indirect_bytes=one.indirect_bytes + other.indirect_bytes,
        birth=one.birth or other.birth,
        loss=one.loss or other.loss,
        last_access=one.last_access or other.last_access,
        references=one.references or other.references,
        used_before=one.used_before if one.last_access else other.used_before,
        sibling_frees=one.sibling_frees or other.sibling_frees,
        staleness=one.staleness or other.staleness,
        drag_byte_s=_optional_sum(one.drag_byte_s, other.drag_byte_s),
        stale_curve=one.stale_curve if not other.stale_curve else (),
        path=one.path or other.path,
        handovers=one.handovers if one.path else other.handovers,
        other_paths=one.other_paths if one.path else other.other_paths,
        release=one.release or other.release,
        processes=tuple(sorted({*one.processes, *other.processes})),
        notes=tuple(dict.fromkeys((*one.notes, *other.notes))),
        advice=one.advice or other.advice,
        other_ids=tuple(dict.fromkeys((*one.other_ids, *other.other_ids))),
    )


def _optional_sum(one: float | None, other: float | None) -> float | None:
    return None if one is None and other is None else (one or 0.0) + (other or 0.0)


def _joined_run(runs: Sequence[Run], first: Run) -> Run:
    codes = [run.exit_code for run in runs if run.exit_code]
    return replace(
        first,
        exit_code=next(iter(codes), first.exit_code),
        lenses=_lenses(runs),
        not_seen=tuple(dict.fromkeys(text for run in runs for text in run.not_seen)),
        processes=tuple(process for run in runs for process in run.processes),
        coverage=_coverage([run.coverage for run in runs if run.coverage]),
    )


def _lenses(runs: Sequence[Run]) -> tuple[tuple[str, LensState], ...]:
    """A lens counts as active when it looked in any of the runs."""
    states: dict[str, LensState] = {}
    for run in runs:
        for name, state in run.lenses:
            known = states.get(name, state)
            states[name] = min(known, state, key=_STATE_ORDER.index)
    return tuple(states.items())


def _coverage(parts: Sequence[Coverage]) -> Coverage | None:
    if not parts:
        return None
    return reduce(_both, parts)


def _both(one: Coverage, other: Coverage) -> Coverage:
    return Coverage(
        one.units + other.units,
        one.units_failed + other.units_failed,
        one.functions + other.functions,
        (*one.incomplete, *other.incomplete),
    )
