"""Compares a report with an earlier one by the fingerprints of their findings."""

from dataclasses import replace

from leakline.model.finding import HELD, Engine, Finding
from leakline.model.report import Comparison, Growth, Report


def compare(report: Report, baseline: Report, name: str) -> Report:
    """The report with new findings only; what the baseline knows is set apart."""
    before = _by_id(baseline)
    earlier = {one.id: _earlier(one, before) for one in report.findings}
    known = tuple(one for one in report.findings if earlier[one.id])
    pairs = ((earlier[one.id], one) for one in known)
    grown = (Growth(old, one) for old, one in pairs if old is not None)
    comparison = Comparison(
        baseline=name,
        known=known,
        grown=tuple(growth for growth in grown if _has_grown(growth)),
        gone=_gone(before, report),
    )
    return replace(
        report,
        run=replace(
            report.run, not_seen=(*report.run.not_seen, *_gaps(baseline, name))
        ),
        findings=tuple(one for one in report.findings if not earlier[one.id]),
        comparison=comparison,
    )


def _by_id(report: Report) -> dict[str, Finding]:
    """All that a report tells apart, also what an even earlier one knew."""
    known = report.comparison.known if report.comparison else ()
    found = (*report.findings, *known)
    joined = {other: one for one in found for other in one.other_ids}
    return joined | {one.id: one for one in found}


def _earlier(finding: Finding, before: dict[str, Finding]) -> Finding | None:
    """The same finding in the baseline, under any of its names."""
    names = (finding.id, *finding.other_ids)
    return next((before[name] for name in names if name in before), None)


def _gone(before: dict[str, Finding], report: Report) -> tuple[Finding, ...]:
    """What was not found again; of kinds that were not looked for, nothing is said."""
    suppressed = (finding for _, finding in report.suppressed)
    found = {
        name
        for one in (*report.findings, *suppressed)
        for name in (one.id, *one.other_ids)
    }
    unlisted = {one.kind for one in report.hidden}
    earlier = {one.id: one for one in before.values()}
    return tuple(
        one
        for one in earlier.values()
        if found.isdisjoint((one.id, *one.other_ids)) and one.kind not in unlisted
    )


def _has_grown(growth: Growth) -> bool:
    before, now = growth.before, growth.now
    if before.engines == (Engine.STATIC,):
        return False  # a check counts paths, not blocks
    return now.bytes > before.bytes or now.blocks > before.blocks


def _gaps(baseline: Report, name: str) -> list[str]:
    if all(one.kind in HELD for one in baseline.hidden):
        return []
    sentence = (
        f"The baseline {name} was made with --top or --show and does not list all its "
        "leaks: those that it left out count as new."
    )
    return [sentence]
