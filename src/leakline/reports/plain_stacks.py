"""A finding's stacks as plain lines, for reports that quote them inside a message."""

from collections.abc import Iterator
from pathlib import Path

from leakline.model.finding import Finding
from leakline.reports.evidence import titled_stacks
from leakline.reports.frames import StackPrinter
from leakline.reports.printable import printable
from leakline.reports.style import Style

_INDENT = "  "


def story(finding: Finding, folder: Path) -> Iterator[str]:
    """The allocation and what else is known, without source lines."""
    printer = StackPrinter(Style(folder))
    yield "allocated here:"
    yield from printer.stack(finding.allocation, _INDENT)
    for title, stack in titled_stacks(finding):
        yield title
        yield from printer.stack(stack, _INDENT)
    for note in finding.notes:
        yield f"note: {printable(note)}"
    if finding.advice:
        yield f"help: {printable(finding.advice)}"
