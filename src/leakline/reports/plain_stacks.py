"""A finding's stacks as plain lines, for reports that quote them inside a message."""

from collections.abc import Iterator
from pathlib import Path

from leakline.model.finding import Finding
from leakline.reports.evidence import titled_stacks
from leakline.reports.frames import StackPrinter
from leakline.reports.printable import printable
from leakline.reports.style import Style

_INDENT = "  "


class Stories:
    """Tells findings; each frame's words are made only once."""

    def __init__(self, folder: Path) -> None:
        self._printer = StackPrinter(Style(folder))

    def story(self, finding: Finding) -> Iterator[str]:
        """The allocation and what else is known, without source lines."""
        yield "allocated here:"
        yield from self._printer.stack(finding.allocation, _INDENT)
        for title, stack in titled_stacks(finding):
            yield title
            yield from self._printer.stack(stack, _INDENT)
        for note in finding.notes:
            yield f"note: {printable(note)}"
        if finding.advice:
            yield f"help: {printable(finding.advice)}"
