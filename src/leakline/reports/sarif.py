"""The report as SARIF 2.1.0, for code hosts and editors.

Each finding is a result; the path to it is a code flow. Paths below the folder are
relative to the base `SRCROOT`.
"""

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

from leakline.model.finding import Confidence, Finding, Kind
from leakline.model.report import Report
from leakline.model.stack import Stack
from leakline.reports.places import relative_path

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"
    "sarif-schema-2.1.0.json"
)

# Rule id, name and description of each kind of finding.
_RULES = {
    Kind.LOST: ("leak", "MemoryLeak", "Memory is lost without being released."),
    Kind.INDIRECT: (
        "indirect-leak",
        "IndirectLeak",
        "Memory is reachable only from memory that is lost.",
    ),
    Kind.REACHABLE: (
        "reachable",
        "ReachableAtExit",
        "Memory is still reachable when the program ends.",
    ),
    Kind.STALE: ("stale", "StaleMemory", "Memory was not used for long."),
    Kind.NEVER_USED: ("never-used", "NeverUsed", "Memory was never used."),
    Kind.DOUBLE_FREE: ("double-free", "DoubleFree", "Memory is released twice."),
    Kind.USE_AFTER_FREE: (
        "use-after-free",
        "UseAfterFree",
        "Memory is used after it was released.",
    ),
    Kind.MISMATCHED_RELEASE: (
        "mismatched-release",
        "MismatchedRelease",
        "Memory is released by a function that does not belong to its allocation.",
    ),
    Kind.NULL_DEREFERENCE: (
        "null-dereference",
        "NullDereference",
        "The result of an allocation is used without a check.",
    ),
}


def render(report: Report, folder: Path, version: str) -> str:
    """The whole log; `version` is that of Leakline."""
    return json.dumps(as_sarif(report, folder, version), indent=1) + "\n"


def as_sarif(report: Report, folder: Path, version: str) -> dict[str, Any]:
    """The log as the values that JSON knows."""
    writer = _Writer(folder)
    suppressed = [
        writer.result(finding)
        | {"suppressions": [{"kind": "external", "justification": name}]}
        for name, finding in report.suppressed
    ]
    run = {
        "tool": {"driver": _driver(version)},
        "columnKind": "utf16CodeUnits",
        "originalUriBaseIds": {"SRCROOT": {"uri": f"{folder.as_uri()}/"}},
        "invocations": [_invocation(report)],
        "results": [*map(writer.result, report.findings), *suppressed],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _driver(version: str) -> dict[str, Any]:
    return {
        "name": "Leakline",
        "version": version,
        "rules": [
            {"id": rule, "name": name, "shortDescription": {"text": text}}
            for rule, name, text in _RULES.values()
        ],
    }


def _invocation(report: Report) -> dict[str, Any]:
    run = report.run
    incomplete = run.coverage.incomplete if run.coverage else ()
    sentences = [*run.not_seen, *(f"Not fully analysed: {name}" for name in incomplete)]
    return {
        "executionSuccessful": run.coverage is None or run.coverage.units > 0,
        "commandLine": " ".join(run.command),
        "toolExecutionNotifications": [
            {"level": "warning", "message": {"text": text}} for text in sentences
        ],
    }


class _Writer:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def result(self, finding: Finding) -> dict[str, Any]:
        rule = _RULES[finding.kind][0]
        result: dict[str, Any] = {
            "ruleId": rule,
            "ruleIndex": list(_RULES).index(finding.kind),
            "level": _level(finding),
            "message": {"text": _message(finding)},
            "locations": [self._shown_at(finding)],
            "partialFingerprints": {"leakline/v1": finding.id},
        }
        if finding.path:
            result["codeFlows"] = [self._code_flow(finding)]
        if finding.allocation.frames:
            result["stacks"] = [self._stack(finding.allocation, "allocated here")]
        return result

    def _shown_at(self, finding: Finding) -> dict[str, Any]:
        if finding.path:
            last = finding.path[-1]
            return self._location(last.file, last.line, last.column)
        stack = finding.loss.stack if finding.loss else finding.allocation
        frame = next((frame for frame in stack.frames if frame.file), None)
        if frame is None:
            return {"message": {"text": "place unknown"}}
        return self._location(frame.file, frame.line, frame.column)

    def _code_flow(self, finding: Finding) -> dict[str, Any]:
        steps = [
            {
                "executionOrder": number,
                "importance": _importance(number, len(finding.path)),
                "location": self._location(step.file, step.line, step.column)
                | {"message": {"text": step.event}},
            }
            for number, step in enumerate(finding.path, start=1)
        ]
        return {"threadFlows": [{"locations": steps}]}

    def _stack(self, stack: Stack, message: str) -> dict[str, Any]:
        frames = [
            {
                "location": self._location(frame.file, frame.line, frame.column)
                | {"logicalLocations": [{"fullyQualifiedName": frame.function}]}
            }
            for frame in stack.frames
            if frame.file
        ]
        return {"message": {"text": message}, "frames": frames}

    def _location(self, file: str, line: int, column: int) -> dict[str, Any]:
        place: dict[str, Any] = {"artifactLocation": self._artifact(file)}
        if line:
            place["region"] = {"startLine": line}
            if column:
                place["region"]["startColumn"] = column
        return {"physicalLocation": place}

    def _artifact(self, file: str) -> dict[str, Any]:
        relative = relative_path(file, self._folder)
        if relative.startswith("/"):
            return {"uri": f"file://{quote(relative, errors='surrogateescape')}"}
        return {
            "uri": quote(relative, errors="surrogateescape"),
            "uriBaseId": "SRCROOT",
        }


def _level(finding: Finding) -> str:
    if finding.kind in {Kind.REACHABLE, Kind.STALE, Kind.NEVER_USED}:
        return "note"
    return "error" if finding.confidence is Confidence.EXACT else "warning"


def _importance(number: int, total: int) -> str:
    return "essential" if number in {1, total} else "important"


def _message(finding: Finding) -> str:
    last = [finding.path[-1].event] if finding.path else []
    sentences = [_RULES[finding.kind][2], *last, *finding.notes]
    if finding.advice:
        sentences.append(finding.advice)
    return " ".join(_sentence(text) for text in sentences)


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."
