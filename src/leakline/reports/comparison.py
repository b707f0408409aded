"""What has changed since an earlier report, in lines of text."""

from collections.abc import Iterator

from leakline.model.finding import Finding
from leakline.model.report import Comparison, Growth, Report
from leakline.reports.frames import StackPrinter
from leakline.reports.headlines import allocating_frame, amount
from leakline.reports.printable import printable
from leakline.reports.style import Role, Style


def comparison_lines(
    report: Report, comparison: Comparison, style: Style
) -> Iterator[str]:
    """How many findings are new, grown, gone and as before; grown and gone by name."""
    new = len(report.findings) + sum(
        1 for one in report.hidden if one.allocation.frames
    )
    grown, gone = len(comparison.grown), len(comparison.gone)
    same = len(comparison.known) - grown
    name = printable(comparison.baseline)
    yield style.paint(f"Compared with {name}", Role.TITLE)
    yield f"  {new:,} new, {grown:,} grown, {gone:,} gone, {same:,} not grown"
    for growth in comparison.grown:
        yield f"  grown  {_change(growth)}  {_place(growth.now, style)}"
    for finding in comparison.gone:
        yield f"  gone   {amount(finding)}  {_place(finding, style)}"
    yield ""


def _change(growth: Growth) -> str:
    before, now = growth.before, growth.now
    return (
        f"{before.bytes:,} to {now.bytes:,} bytes, "
        f"{before.blocks:,} to {now.blocks:,} blocks"
    )


def _place(finding: Finding, style: Style) -> str:
    frame = allocating_frame(finding)
    if frame is None:
        return f"({finding.kind.value})"
    printer = StackPrinter(style)
    where = f"{printer.name(frame)}  {printer.place(frame)}"
    return f"{where}  ({finding.kind.value})"
