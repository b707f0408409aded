"""The report as SARIF 2.1.0, for code hosts and editors.

Each finding is a result at the place to mend; the path to it, or the story of its
memory, is a code flow. Paths below the folder are relative to the base `SRCROOT`.
"""

import json
import shlex
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from leakline.model.finding import Engine, Finding
from leakline.model.report import Report
from leakline.reports.evidence import birth_title
from leakline.reports.headlines import headline
from leakline.reports.printable import printable
from leakline.reports.sarif_places import Places, Titled
from leakline.reports.sarif_rules import RULES, described, index_of, level

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"
    "sarif-schema-2.1.0.json"
)
# What GitHub's code scanning takes of one log before it refuses all of it.
MOST_RESULTS = 25_000
MOST_STEPS = 10_000
# Sentences of one kind in the log, so that it stays readable.
_MOST_NOTIFICATIONS = 1_000


def render(report: Report, folder: Path) -> str:
    """The whole log; each result stands on a line of its own."""
    document = as_sarif(report, folder, _version())
    (run,) = document["runs"]
    results = ",\n".join(map(json.dumps, run.pop("results")))
    # The results come last in the run, and the run last in the log.
    start = json.dumps(document).removesuffix("}]}")
    return f'{start}, "results": [\n{results}\n]}}]}}\n'


def as_sarif(report: Report, folder: Path, leakline_version: str) -> dict[str, Any]:
    """The log as the values that JSON knows."""
    writer = _Writer(report, folder)
    every = [*writer.results(report), *writer.suppressed(report)]
    results, left_out = every[:MOST_RESULTS], max(0, len(every) - MOST_RESULTS)
    run = {
        "tool": {
            "driver": {
                "name": "Leakline",
                "version": leakline_version,
                "rules": described(),
            }
        },
        "columnKind": "utf16CodeUnits",
        "originalUriBaseIds": {"SRCROOT": {"uri": f"{folder.as_uri()}/"}},
        "invocations": [_invocation(report, left_out)],
        "results": results,
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _invocation(report: Report, left_out: int) -> dict[str, Any]:
    run = report.run
    incomplete = run.coverage.incomplete if run.coverage else ()
    sentences = [*run.not_seen, *(f"Not fully analysed: {name}" for name in incomplete)]
    del sentences[_MOST_NOTIFICATIONS:]
    if left_out:
        sentences.insert(0, f"{left_out:,} results did not fit into the log.")
    written: dict[str, Any] = {
        "executionSuccessful": run.coverage is None or run.coverage.units > 0,
        "commandLine": printable(shlex.join(run.command)),
        "toolExecutionNotifications": [
            {"level": "warning", "message": {"text": printable(text)}}
            for text in sentences
        ],
    }
    if run.exit_code is not None:
        written["exitCode"] = run.exit_code
    return written


class _Writer:
    def __init__(self, report: Report, folder: Path) -> None:
        self._places = Places(report.run, folder)

    def results(self, report: Report) -> Iterator[dict[str, Any]]:
        """What was found; with a baseline also what it knows, each marked."""
        compared = report.comparison
        for finding in report.findings:
            state = {"baselineState": "new"} if compared else {}
            yield self.result(finding) | state
        grown = {growth.now.id for growth in compared.grown} if compared else set()
        for finding in compared.known if compared else ():
            has_grown = finding.id in grown
            state = {"baselineState": "updated" if has_grown else "unchanged"}
            yield self.result(finding) | state

    def suppressed(self, report: Report) -> Iterator[dict[str, Any]]:
        for name, finding in report.suppressed:
            why = {"kind": "external", "justification": printable(name)}
            yield self.result(finding) | {"suppressions": [why]}

    def result(self, finding: Finding) -> dict[str, Any]:
        places = self._places
        result: dict[str, Any] = {
            "ruleId": RULES[finding.kind].id,
            "ruleIndex": index_of(finding.kind),
            "level": level(finding),
            "message": {"text": _message(finding)},
            "locations": [places.to_mend(finding)],
            "partialFingerprints": {"leakline/v1": printable(finding.id)},
            "properties": _properties(finding),
        }
        titled = _titled_stacks(finding)
        optional = {
            "codeFlows": self._code_flows(finding, titled),
            "relatedLocations": places.related(titled),
            "stacks": [places.stack(one) for one in titled if one.stack.frames],
        }
        return result | {key: value for key, value in optional.items() if value}

    def _code_flows(
        self, finding: Finding, titled: list[Titled]
    ) -> list[dict[str, Any]]:
        """The path that the checker found, else what the run saw happen."""
        if finding.path:
            steps = self._places.path(finding.path[-MOST_STEPS:])
        else:
            steps = self._places.story(titled)
        return [{"threadFlows": [{"locations": steps}]}] if len(steps) > 1 else []


def _titled_stacks(finding: Finding) -> list[Titled]:
    """What happened to the memory, in the order in which it usually does."""
    slot = f" `{finding.loss.slot}`" if finding.loss and finding.loss.slot else ""
    cause = finding.loss.cause.value if finding.loss else ""
    stacks = [
        ("allocated here", finding.allocation),
        ("last used here", finding.last_access),
        (birth_title(finding), finding.birth),
        (
            f"the last reference{slot} was lost here ({cause})",
            finding.loss and finding.loss.stack,
        ),
    ]
    known = [Titled(printable(text), stack) for text, stack in stacks if stack]
    freed = [
        Titled("memory like this is released here", stack, is_event=False)
        for stack in finding.sibling_frees
    ]
    return known + freed


def _properties(finding: Finding) -> dict[str, Any]:
    """What has no place of its own in SARIF."""
    return {
        "engines": [engine.value for engine in finding.engines],
        "blocks": finding.blocks,
        "bytes": finding.bytes,
        "indirectBlocks": finding.indirect_blocks,
        "indirectBytes": finding.indirect_bytes,
    }


def _message(finding: Finding) -> str:
    sentences = [RULES[finding.kind].short]
    if finding.engines != (Engine.STATIC,):
        sentences.append(headline(finding))
    if finding.path:
        sentences.append(finding.path[-1].event)
    sentences += finding.notes
    if finding.advice:
        sentences.append(finding.advice)
    return " ".join(_sentence(printable(text)) for text in sentences)


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _version() -> str:
    try:
        return version("leakline")
    except PackageNotFoundError:
        return "0"
