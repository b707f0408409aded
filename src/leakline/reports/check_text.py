"""The static checker's report for people: each leak with the path that leads to it."""

from collections import Counter
from collections.abc import Iterator

from leakline.model.finding import Finding, Kind, PathStep
from leakline.model.report import Coverage, Report
from leakline.model.stack import Stack
from leakline.reports.comparison import comparison_lines
from leakline.reports.places import relative_path
from leakline.reports.printable import printable
from leakline.reports.quantities import plural
from leakline.reports.source import pointed_line
from leakline.reports.style import Role, Style

# Names of incomplete functions are listed up to this number, then counted.
MAX_LISTED = 10

_TITLES = {
    Kind.LOST: "leak",
    Kind.DOUBLE_FREE: "double free",
    Kind.USE_AFTER_FREE: "use after free",
    Kind.MISMATCHED_RELEASE: "mismatched release",
    Kind.NULL_DEREFERENCE: "null dereference",
}


def render(report: Report, style: Style) -> str:
    """The whole report; ends with a newline."""
    lines: list[str] = []
    for finding in report.findings:
        lines += [*_finding(finding, style), ""]
    if report.comparison:
        lines += comparison_lines(report, report.comparison, style)
    lines += _not_seen(report, style)
    lines += _closing(report, style)
    return "\n".join(lines) + "\n"


def _finding(finding: Finding, style: Style) -> Iterator[str]:
    yield _title(finding, style)
    previous: PathStep | None = None
    for number, step in enumerate(finding.path, start=1):
        yield from _step(number, step, previous, style)
        previous = step
    for note in finding.notes:
        yield f"  {style.paint('note:', Role.QUIET)} {printable(note)}"
    if finding.advice:
        yield f"  {style.paint('help:', Role.CALM)} {printable(finding.advice)}"


def _title(finding: Finding, style: Style) -> str:
    place = style.paint(_place_of(finding, style), Role.PLACE)
    kind = style.paint(
        _TITLES.get(finding.kind, finding.kind.value),
        Role.ALARM if finding.kind is Kind.LOST else Role.WARNING,
    )
    return f"{place}: {kind}: {printable(_summary(finding))}"


def _place_of(finding: Finding, style: Style) -> str:
    """Where the defect shows: the last step, as other tools print it."""
    if finding.path:
        last = finding.path[-1]
        return _place(last.file, last.line, last.column, style)
    frame = next(iter(finding.allocation.frames), None)
    return _place(frame.file, frame.line, frame.column, style) if frame else "?"


def _place(file: str, line: int, column: int, style: Style) -> str:
    name = printable(relative_path(file, style.folder))
    return f"{name}:{line}:{column}" if column else f"{name}:{line}"


def _summary(finding: Finding) -> str:
    if finding.kind is not Kind.LOST and finding.path:
        return finding.path[-1].event
    size = f"{plural(finding.bytes, 'byte')} " if finding.bytes else "memory "
    slot = finding.loss.slot if finding.loss else None
    held = f", last held by `{slot}`" if slot else ""
    return f"{size}allocated in {_function(finding.allocation)}{held}"


def _function(stack: Stack) -> str:
    frame = next(iter(stack.frames), None)
    if frame is None or not frame.function:
        return "an unknown function"
    return frame.function if "(" in frame.function else f"{frame.function}()"


def _step(
    number: int, step: PathStep, previous: PathStep | None, style: Style
) -> Iterator[str]:
    place = _place(step.file, step.line, step.column, style)
    yield f"  {number:>3}. {style.paint(place, Role.PLACE)}: {printable(step.event)}"
    same = previous and (previous.file, previous.line) == (step.file, step.line)
    if not style.with_source:
        return
    file = style.originals.get(step.file, step.file)
    pointed = pointed_line(file, step.line, step.column, style.folder)
    if pointed is None or (same and not step.column):
        return
    text, caret = pointed
    number_text = f"{step.line:>8}"
    yield f"{style.paint(number_text + ' |', Role.QUIET)} {text}"
    yield f"{style.paint(' ' * 8 + ' |', Role.QUIET)} {style.paint(caret, Role.CALM)}"


def _not_seen(report: Report, style: Style) -> Iterator[str]:
    if not report.run.not_seen:
        return
    yield style.paint("Not seen:", Role.WARNING)
    for sentence in report.run.not_seen:
        yield f"  - {printable(sentence)}"
    yield ""


def _closing(report: Report, style: Style) -> Iterator[str]:
    found = Counter(finding.kind for finding in report.findings + report.hidden)
    if found:
        words = (
            plural(number, _TITLES.get(kind, kind.value))
            for kind, number in sorted(found.items(), key=lambda item: item[0].value)
        )
        yield style.paint(f"Found {', '.join(words)}.", Role.ALARM)
    elif report.run.coverage is not None and report.run.coverage.units:
        new = "new " if report.comparison else ""
        yield style.paint(f"No {new}leaks found.", Role.CALM)
    if report.suppressed:
        yield f"{plural(len(report.suppressed), 'finding')} suppressed."
    for name in report.unused_suppressions:
        yield f"The suppression {printable(name)} matched nothing."
    if report.run.coverage is not None:
        yield from _coverage(report.run.coverage)


def _coverage(coverage: Coverage) -> Iterator[str]:
    complete = coverage.functions - len(coverage.incomplete)
    failed = f", {coverage.units_failed} not readable" if coverage.units_failed else ""
    yield (
        f"Checked {plural(coverage.units, 'unit')}{failed}:"
        f" {complete:,} of {plural(coverage.functions, 'function')} fully analysed."
    )
    if coverage.incomplete:
        yield "Not fully analysed:"
    for name in coverage.incomplete[:MAX_LISTED]:
        yield f"  - {printable(name)}"
    rest = len(coverage.incomplete) - MAX_LISTED
    if rest > 0:
        yield f"  - and {rest:,} more (all of them with --format json)"
