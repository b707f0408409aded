"""The end of a text report: totals by kind, what was looked at, what was not seen."""

import textwrap
from collections.abc import Iterable, Iterator

from leakline.model.finding import Finding, Kind
from leakline.model.report import LensState, Report
from leakline.reports.comparison import comparison_lines
from leakline.reports.printable import printable
from leakline.reports.quantities import bytes_in_words, plural
from leakline.reports.style import Role, Style

_WIDTH = 88


def summary_lines(report: Report, style: Style) -> Iterator[str]:
    """All that a reader needs to trust the report."""
    yield from _totals(report, style)
    if report.comparison:
        yield from comparison_lines(report, report.comparison, style)
    yield from _checking(report, style)
    yield from _list("Remarks:", report.run.remarks, style)
    yield from _list("Not seen:", report.run.not_seen, style)
    yield from _list(
        "Suppressions that matched nothing:", report.unused_suppressions, style
    )


def _totals(report: Report, style: Style) -> Iterator[str]:
    rows = _rows(report)
    if not rows:
        return
    yield style.paint(
        f"{'Summary':<18}{'bytes':>18}{'blocks':>14}{'findings':>12}", Role.TITLE
    )
    for name, findings, remark in rows:
        size = sum(finding.bytes for finding in findings)
        blocks = sum(finding.blocks for finding in findings)
        number = f"{count_listed(findings):,}" if count_listed(findings) else "-"
        row = f"  {name:<16}{size:>18,}{blocks:>14,}{number:>12}  {remark}"
        yield row.rstrip()
    yield ""


def _rows(report: Report) -> list[tuple[str, list[Finding], str]]:
    """Per kind and for suppressions: name, findings, what is not shown of them."""
    rows = []
    for kind in Kind:
        shown = [finding for finding in report.findings if finding.kind is kind]
        hidden = [finding for finding in report.hidden if finding.kind is kind]
        if shown or hidden:
            rows.append((kind.value, shown + hidden, _not_shown(shown, hidden)))
    if report.suppressed:
        suppressed = [finding for _, finding in report.suppressed]
        rows.append(("suppressed", suppressed, ""))
    if report.comparison and report.comparison.known:
        rows.append(("in the baseline", list(report.comparison.known), ""))
    return rows


def _not_shown(shown: list[Finding], hidden: list[Finding]) -> str:
    if not hidden:
        return ""
    return f"({len(hidden):,} not shown)" if shown else "(not shown)"


def count_listed(findings: Iterable[Finding]) -> int:
    """How many are findings of their own; one without a stack is only a total."""
    return sum(1 for finding in findings if finding.allocation.frames)


def _checking(report: Report, style: Style) -> Iterator[str]:
    run = report.run
    active = [name for name, state in run.lenses if state is LensState.ACTIVE]
    if not active:
        yield style.paint("Checking was NOT active: nothing was looked at.", Role.ALARM)
    else:
        yield f"Checking was active: {', '.join(_what_was_seen(report, active))}."
    unavailable = [name for name, state in run.lenses if state is LensState.UNAVAILABLE]
    if unavailable:
        names = ", ".join(map(printable, unavailable))
        yield style.paint(f"Could not look through: {names}.", Role.ALARM)
    alive_blocks = sum(process.live_blocks for process in run.processes)
    alive_bytes = sum(process.live_bytes for process in run.processes)
    if alive_blocks:
        blocks = plural(alive_blocks, "block")
        yield f"Not freed at the last look: {bytes_in_words(alive_bytes)} in {blocks}."


def _what_was_seen(report: Report, active: list[str]) -> Iterator[str]:
    noun = "lens" if len(active) == 1 else "lenses"
    yield f"{noun} {', '.join(map(printable, active))}"
    if report.run.processes:
        yield plural(len(report.run.processes), "process")
        allocations = sum(process.allocations for process in report.run.processes)
        yield f"{plural(allocations, 'allocation')} seen"


def _list(title: str, sentences: Iterable[str], style: Style) -> Iterator[str]:
    lines = list(sentences)
    if not lines:
        return
    yield style.paint(title, Role.WARNING)
    for sentence in lines:
        yield from textwrap.wrap(
            printable(sentence),
            style.width or _WIDTH,
            initial_indent="  - ",
            subsequent_indent="    ",
            break_long_words=False,
            break_on_hyphens=False,
        )
