"""Compares a report with an earlier one by the fingerprints of their findings."""

from dataclasses import replace

from leakline.model.finding import Finding
from leakline.model.report import Comparison, Growth, Report
from leakline.triage.selection import HARMLESS


def compare(report: Report, baseline: Report, name: str) -> Report:
    """The report with new findings only; what the baseline knows is set apart."""
    before = _by_id(baseline)
    known = tuple(one for one in report.findings if one.id in before)
    grown = (Growth(before[one.id], one) for one in known)
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
        findings=tuple(one for one in report.findings if one.id not in before),
        comparison=comparison,
    )


def _by_id(report: Report) -> dict[str, Finding]:
    """All that a report tells apart, also what an even earlier one knew."""
    known = report.comparison.known if report.comparison else ()
    return {one.id: one for one in (*report.findings, *known)}


def _gone(before: dict[str, Finding], report: Report) -> tuple[Finding, ...]:
    """What was not found again; of kinds that were not looked for, nothing is said."""
    suppressed = (finding for _, finding in report.suppressed)
    found = {one.id for one in (*report.findings, *suppressed)}
    unlisted = {one.kind for one in report.hidden}
    return tuple(
        finding
        for finding in before.values()
        if finding.id not in found and finding.kind not in unlisted
    )


def _has_grown(growth: Growth) -> bool:
    before, now = growth.before, growth.now
    return now.bytes > before.bytes or now.blocks > before.blocks


def _gaps(baseline: Report, name: str) -> list[str]:
    if all(one.kind is HARMLESS for one in baseline.hidden):
        return []
    sentence = (
        f"The baseline {name} was made with --top or --show and does not list all its "
        "leaks: those that it left out count as new."
    )
    return [sentence]
