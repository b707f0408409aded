"""The report for other programs: JSON, version 1, as docs/schema describes it.

The output is plain ASCII, so nothing in it can steer a terminal.
"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from leakline.model.finding import (
    Finding,
    Handover,
    Kind,
    Loss,
    OtherPaths,
    PathStep,
    Reference,
    Staleness,
)
from leakline.model.report import Comparison, Coverage, Process, Report, Run
from leakline.model.stack import Frame, Stack
from leakline.reports.places import relative_path
from leakline.reports.summary import count_listed

SCHEMA = "leakline/1"


def render(report: Report, folder: Path, suppressions: str | None = None) -> str:
    """The whole report; files below `folder` are named relative to it.

    Each finding stands on a line of its own: readable enough, and much quicker to write
    than an indented document.
    """
    document = as_json(report, folder, suppressions)
    members = (
        f" {json.dumps(key)}: {_lines(value)}" for key, value in document.items()
    )
    return "{\n" + ",\n".join(members) + "\n}\n"


def _lines(value: object) -> str:
    if not isinstance(value, list) or not value:
        return json.dumps(value)
    return "[\n  " + ",\n  ".join(map(json.dumps, value)) + "\n ]"


def as_json(
    report: Report, folder: Path, suppressions: str | None = None
) -> dict[str, Any]:
    """The report as the values that JSON knows."""
    writer = _Writer(folder)
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "run": writer.run(report.run),
        "findings": [writer.finding(finding) for finding in report.findings],
        "totals": totals(report),
        "suppressed": [
            {"suppression": name, **_amount(finding), "id": finding.id}
            for name, finding in report.suppressed
        ],
        "unused_suppressions": list(report.unused_suppressions),
    }
    if suppressions is not None:
        document["generated"] = suppressions
    if report.comparison is not None:
        document["comparison"] = writer.comparison(report.comparison)
    return document


class _Writer:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # Many stacks share their frame objects, by id, for the life of the report.
        self._frames: dict[int, dict[str, Any]] = {}

    def run(self, run: Run) -> dict[str, Any]:
        remarks = {"remarks": list(run.remarks)} if run.remarks else {}
        return {
            "command": list(run.command),
            "exit_code": run.exit_code,
            "lenses": {name: state.value for name, state in run.lenses},
            "not_seen": list(run.not_seen),
            "processes": [_process(process) for process in run.processes],
            "coverage": _coverage(run.coverage),
            **remarks,
        }

    def finding(self, finding: Finding) -> dict[str, Any]:
        return {
            "id": finding.id,
            "engines": [engine.value for engine in finding.engines],
            "kind": finding.kind.value,
            "confidence": finding.confidence.value,
            "blocks": finding.blocks,
            "bytes": finding.bytes,
            "indirect_blocks": finding.indirect_blocks,
            "indirect_bytes": finding.indirect_bytes,
            "allocation": self.stack(finding.allocation),
            "leader": self.optional_stack(finding.leader),
            "birth": self.optional_stack(finding.birth),
            "loss": self.loss(finding.loss),
            "last_access": self.optional_stack(finding.last_access),
            "references": [self.reference(one) for one in finding.references] or None,
            "used_before": [self.stack(stack) for stack in finding.used_before] or None,
            "sibling_frees": [self.stack(stack) for stack in finding.sibling_frees]
            or None,
            "staleness": _staleness(finding.staleness),
            "drag_byte_s": finding.drag_byte_s,
            "stale_curve": [asdict(point) for point in finding.stale_curve] or None,
            "path": [self.step(step) for step in finding.path] or None,
            "handovers": [self.handover(one) for one in finding.handovers] or None,
            "other_paths": self.other_paths(finding.other_paths),
            "release": finding.release,
            "processes": list(finding.processes),
            "notes": list(finding.notes),
            "advice": finding.advice,
            "other_ids": list(finding.other_ids),
        }

    def reference(self, reference: Reference) -> dict[str, Any]:
        return {
            "slot": reference.slot,
            "slots": reference.slots,
            "offset": reference.offset,
            "holder": self.optional_stack(reference.holder),
            "birth": self.optional_stack(reference.birth),
        }

    def comparison(self, comparison: Comparison) -> dict[str, Any]:
        return {
            "baseline": comparison.baseline,
            "known": [self.finding(finding) for finding in comparison.known],
            "grown": [
                {
                    "id": growth.now.id,
                    "blocks_before": growth.before.blocks,
                    "bytes_before": growth.before.bytes,
                }
                for growth in comparison.grown
            ],
            "gone": [self.finding(finding) for finding in comparison.gone],
        }

    def loss(self, loss: Loss | None) -> dict[str, Any] | None:
        if loss is None:
            return None
        cause = {
            "cause": loss.cause.value,
            "slot": loss.slot,
            "precision": loss.precision.value,
            "variables_seen": loss.variables_seen,
        }
        return cause | self.stack(loss.stack)

    def optional_stack(self, stack: Stack | None) -> dict[str, Any] | None:
        return None if stack is None else self.stack(stack)

    def stack(self, stack: Stack) -> dict[str, Any]:
        return {
            "frames": [self.frame(frame) for frame in stack.frames],
            "folded_at": stack.folded_at,
            "stopped": stack.stopped,
        }

    def frame(self, frame: Frame) -> dict[str, Any]:
        written = self._frames.get(id(frame))
        if written is None:
            written = self._frames[id(frame)] = self._new_frame(frame)
        return written

    def _new_frame(self, frame: Frame) -> dict[str, Any]:
        return {
            "function": frame.function,
            "file": relative_path(frame.file, self._folder),
            "line": frame.line,
            "column": frame.column,
            "module": frame.module,
            "offset": frame.offset,
            "inlined": frame.inlined,
            "naming": frame.naming.value,
            "symbol": frame.symbol,
        }

    def handover(self, handover: Handover) -> dict[str, Any]:
        otherwise = handover.otherwise
        return {
            "function": handover.function,
            "file": relative_path(handover.file, self._folder),
            "line": handover.line,
            "fate": handover.fate.value,
            "otherwise": None if otherwise is None else otherwise.value,
        }

    def other_paths(self, paths: OtherPaths | None) -> dict[str, Any] | None:
        if paths is None:
            return None
        return {
            "on_every_path": paths.on_every_path,
            "released": [self.frame(frame) for frame in paths.released],
        }

    def step(self, step: PathStep) -> dict[str, Any]:
        return {
            "file": relative_path(step.file, self._folder),
            "line": step.line,
            "column": step.column,
            "event": step.event,
        }


def _staleness(staleness: Staleness | None) -> dict[str, float | None] | None:
    if staleness is None:
        return None
    return {"lower_s": staleness.lower_s, "upper_s": staleness.upper_s}


def _coverage(coverage: Coverage | None) -> dict[str, Any] | None:
    if coverage is None:
        return None
    return {
        "units": coverage.units,
        "units_failed": coverage.units_failed,
        "functions": coverage.functions,
        "incomplete": list(coverage.incomplete),
    }


def _process(process: Process) -> dict[str, Any]:
    return {
        "pid": process.pid,
        "command": list(process.command),
        "ended": process.ended,
        "live_blocks": process.live_blocks,
        "live_bytes": process.live_bytes,
        "allocations": process.allocations,
        "peak_bytes": process.peak_bytes,
        "timeline": [asdict(moment) for moment in process.timeline],
    }


def totals(report: Report) -> dict[str, dict[str, int]]:
    """Per kind, what was found in all, shown or not; suppressed findings left out."""
    sums: dict[str, dict[str, int]] = {}
    found = report.findings + report.hidden
    for kind in Kind:
        of_kind = [finding for finding in found if finding.kind is kind]
        if of_kind:
            sums[kind.value] = {
                "findings": count_listed(of_kind),
                "blocks": sum(finding.blocks for finding in of_kind),
                "bytes": sum(finding.bytes for finding in of_kind),
            }
    return sums


def _amount(finding: Finding) -> dict[str, Any]:
    return {
        "kind": finding.kind.value,
        "blocks": finding.blocks,
        "bytes": finding.bytes,
    }
