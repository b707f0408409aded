"""The data that the page shows, as the values that JSON knows.

Every text in it is safe to show: without control characters and without what the user
wants to keep private. Evidence that was not seen has no key.
"""

from dataclasses import asdict
from typing import Any

from leakline.model.finding import Cause, Finding, PathStep, Reference, Staleness
from leakline.model.report import Coverage, Process, Report, Run
from leakline.model.stack import Stack
from leakline.reports.evidence import reference_title
from leakline.reports.html.sources import embedded_sources
from leakline.reports.html.tables import Tables
from leakline.reports.json_ import totals
from leakline.reports.privacy import Privacy
from leakline.reports.spots import Spots
from leakline.reports.style import Style
from leakline.reports.suggestion import suggest


def contents(
    report: Report, privacy: Privacy, suppressions: str | None
) -> dict[str, Any]:
    """Everything that is embedded into the page."""
    writer = _Writer(privacy)
    findings = [writer.finding(finding) for finding in report.findings]
    tables = writer.tables.as_json()
    document = {
        "run": writer.run(report.run),
        "totals": totals(report),
        "causes": _causes(report),
        "suppressed": _suppressed(report, privacy),
        "unused_suppressions": [
            privacy.text(name) for name in report.unused_suppressions
        ],
        "findings": findings,
        "sentences": list(writer.sentences),
        **tables,
        **embedded_sources(writer.tables, privacy),
    }
    if suppressions:
        document["generated"] = "\n".join(map(privacy.text, suppressions.split("\n")))
    return document


class _Writer:
    def __init__(self, privacy: Privacy) -> None:
        self._privacy = privacy
        self._spots = Spots(Style(privacy.folder))
        self.tables = Tables(privacy)
        self.sentences: dict[str, int] = {}

    def run(self, run: Run) -> dict[str, Any]:
        return {
            "command": self._words(run.command),
            "exit_code": run.exit_code,
            "lenses": [
                [self._privacy.text(name), state.value] for name, state in run.lenses
            ],
            "not_seen": self._words(run.not_seen),
            "remarks": self._words(run.remarks),
            "processes": [self._process(process) for process in run.processes],
            **self._coverage(run.coverage),
        }

    def finding(self, finding: Finding) -> dict[str, Any]:
        written = {
            "id": self._privacy.text(finding.id),
            "kind": finding.kind.value,
            "confidence": finding.confidence.value,
            "engines": [engine.value for engine in finding.engines],
            "blocks": finding.blocks,
            "bytes": finding.bytes,
            "allocation": self.tables.stack(finding.allocation),
        }
        return written | _present(self._evidence(finding))

    def _evidence(self, finding: Finding) -> dict[str, Any]:
        return {
            "indirect_blocks": finding.indirect_blocks,
            "indirect_bytes": finding.indirect_bytes,
            "leader": finding.leader and self.tables.stack(finding.leader),
            "birth": finding.birth and self.tables.stack(finding.birth),
            "loss": self._loss(finding),
            "last_access": finding.last_access
            and self.tables.stack(finding.last_access),
            "references": [self._reference(one) for one in finding.references],
            "used_before": [self.tables.stack(s) for s in finding.used_before],
            "sibling_frees": [self.tables.stack(s) for s in finding.sibling_frees],
            "staleness": _staleness(finding.staleness),
            "drag_byte_s": finding.drag_byte_s,
            "stale_curve": [asdict(point) for point in finding.stale_curve],
            "path": [self._step(step) for step in finding.path],
            "processes": list(finding.processes),
            "notes": self._words(finding.notes),
            "suggestion": self._suggestion(finding),
        }

    def _suggestion(self, finding: Finding) -> dict[str, Any]:
        made = suggest(finding, self._spots)
        return {"action": self._sentence(made.action)} | _present(
            {
                "reasons": [self._sentence(one) for one in made.reasons],
                "checks": [self._sentence(one) for one in made.checks],
            }
        )

    def _sentence(self, text: str) -> int:
        """Its number: many findings share their sentences."""
        known = self.sentences
        return known.setdefault(self._privacy.text(text), len(known))

    def _reference(self, reference: Reference) -> dict[str, Any]:
        title = self._privacy.text(reference_title(reference))
        return {"title": title, "stack": self.tables.stack(reference.birth or Stack())}

    def _loss(self, finding: Finding) -> dict[str, Any] | None:
        loss = finding.loss
        if loss is None:
            return None
        written = {"cause": loss.cause.value, "stack": self.tables.stack(loss.stack)}
        return written | _present({"slot": self._privacy.text(loss.slot or "")})

    def _step(self, step: PathStep) -> dict[str, Any]:
        place = self.tables.place(step.file, step.line)
        return {**place, "event": self._privacy.text(step.event)}

    def _process(self, process: Process) -> dict[str, Any]:
        return {
            "pid": process.pid,
            "command": self._words(process.command),
            "ended": self._privacy.text(process.ended),
            "live_blocks": process.live_blocks,
            "live_bytes": process.live_bytes,
            "allocations": process.allocations,
            "peak_bytes": process.peak_bytes,
            "timeline": [asdict(moment) for moment in process.timeline],
        }

    def _coverage(self, coverage: Coverage | None) -> dict[str, Any]:
        if coverage is None:
            return {}
        written = {
            "units": coverage.units,
            "units_failed": coverage.units_failed,
            "functions": coverage.functions,
            "incomplete": self._words(coverage.incomplete),
        }
        return {"coverage": written}

    def _words(self, words: tuple[str, ...]) -> list[str]:
        return [self._privacy.text(word) for word in words]


def _present(values: dict[str, Any]) -> dict[str, Any]:
    """What was seen; a stack with the number 0 was."""
    absent: tuple[Any, ...] = (None, "", [])
    return {
        key: value
        for key, value in values.items()
        if value not in absent and not (key.startswith("indirect_") and value == 0)
    }


def _staleness(staleness: Staleness | None) -> list[float | None] | None:
    return None if staleness is None else [staleness.lower_s, staleness.upper_s]


def _causes(report: Report) -> dict[str, dict[str, int]]:
    """Per cause of loss, what was found, shown or not, as the totals per kind do."""
    found = report.findings + report.hidden
    causes = {}
    for cause in Cause:
        lost = [finding for finding in found if _cause(finding) is cause]
        if lost:
            causes[cause.value] = {
                "findings": len(lost),
                "blocks": sum(finding.blocks for finding in lost),
                "bytes": sum(finding.bytes for finding in lost),
            }
    return causes


def _cause(finding: Finding) -> Cause | None:
    return finding.loss.cause if finding.loss else None


def _suppressed(report: Report, privacy: Privacy) -> dict[str, dict[str, int]]:
    """Per suppression, what it hides."""
    hidden: dict[str, dict[str, int]] = {}
    for name, finding in report.suppressed:
        none = {"findings": 0, "blocks": 0, "bytes": 0}
        sums = hidden.setdefault(privacy.text(name), none)
        sums["findings"] += 1
        sums["blocks"] += finding.blocks
        sums["bytes"] += finding.bytes
    return hidden
