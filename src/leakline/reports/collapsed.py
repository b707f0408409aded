"""Leaked bytes as collapsed stacks, which flame graph tools read.

A line is the kind, the calls from the outermost to the innermost, and the bytes:
`[lost];main;append;make_item 1920`.
"""

from pathlib import Path

from leakline.model.finding import Finding
from leakline.model.report import Report
from leakline.reports.calls import label, outermost_first


def render(report: Report, _folder: Path) -> str:
    """One line per stack, in the order of the stacks."""
    weights: dict[str, int] = {}
    for finding in report.findings:
        stack = _line(finding)
        weights[stack] = weights.get(stack, 0) + finding.bytes
    return "".join(f"{stack} {size}\n" for stack, size in sorted(weights.items()))


def _line(finding: Finding) -> str:
    calls = [label(frame) for frame in outermost_first(finding.allocation)]
    # A semicolon separates calls; a name that has one must not become two.
    names = [name.replace(";", ":") for name in calls]
    return ";".join([f"[{finding.kind.value}]", *names])
