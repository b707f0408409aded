"""The report that people read in a terminal or a log."""

from collections.abc import Iterator

from leakline.model.finding import Confidence, Finding, Kind, Staleness
from leakline.model.report import LensState, Report
from leakline.model.stack import Stack
from leakline.reports.frames import allocation_lines, place_of, stack_lines
from leakline.reports.places import first_own_frame, relative_path
from leakline.reports.printable import printable
from leakline.reports.quantities import bytes_in_words, plural, share
from leakline.reports.style import Role, Style
from leakline.reports.summary import summary_lines

_INDENT = "     "
_KIND_ROLES = {
    Kind.LOST: Role.ALARM,
    Kind.INDIRECT: Role.WARNING,
    Kind.REACHABLE: Role.TITLE,
}


def render(report: Report, style: Style) -> str:
    """The whole report; ends with a newline."""
    lines = [*_heading(report, style), ""]
    leaked = _leaked_bytes(report)
    for number, finding in enumerate(report.findings, start=1):
        lines += [*_finding(number, finding, report, leaked, style), ""]
    lines += summary_lines(report, style)
    return "\n".join(lines) + "\n"


def _heading(report: Report, style: Style) -> Iterator[str]:
    command = printable(" ".join(report.run.command))
    title = style.paint("Leakline", Role.TITLE)
    yield f"{title}  {_verdict(report, style)}{'  ' if command else ''}{command}"


def _verdict(report: Report, style: Style) -> str:
    leaks = [
        finding
        for finding in report.findings + report.hidden
        if finding.kind is not Kind.REACHABLE
    ]
    if not leaks and LensState.ACTIVE not in dict(report.run.lenses).values():
        return style.paint("nothing was checked", Role.ALARM)
    if not leaks:
        return style.paint("no leaks found", Role.CALM)
    size = sum(finding.bytes for finding in leaks)
    blocks = sum(finding.blocks for finding in leaks)
    text = f"{plural(len(leaks), 'leak')}: {bytes_in_words(size)}"
    return style.paint(f"{text} in {plural(blocks, 'block')}", Role.ALARM)


def _finding(
    number: int,
    finding: Finding,
    report: Report,
    leaked_bytes: int,
    style: Style,
) -> Iterator[str]:
    yield _header(number, finding, leaked_bytes, style)
    yield from allocation_lines(finding.allocation, style, _INDENT)
    yield from _evidence(finding, style)
    yield from _remarks(finding, report, style)


def _header(number: int, finding: Finding, leaked_bytes: int, style: Style) -> str:
    role = _KIND_ROLES.get(finding.kind, Role.ALARM)
    kind = style.paint(finding.kind.value, role)
    sure = "" if finding.confidence is Confidence.EXACT else f" ({_sure(finding)})"
    amount = f"{bytes_in_words(finding.bytes)} in {plural(finding.blocks, 'block')}"
    if finding.indirect_blocks:
        amount += (
            f", and with them {bytes_in_words(finding.indirect_bytes)} in "
            f"{plural(finding.indirect_blocks, 'block')}"
        )
    return f"#{number:<3} {kind}{sure}  {amount}{_share(finding, leaked_bytes)}"


def _share(finding: Finding, leaked_bytes: int) -> str:
    """What mending this leak would save of all that leaked."""
    if finding.kind is Kind.REACHABLE or not leaked_bytes:
        return ""
    saved = finding.bytes + finding.indirect_bytes
    return f"  ({share(min(saved, leaked_bytes), leaked_bytes)})"


def _sure(finding: Finding) -> str:
    return finding.confidence.value


def _evidence(finding: Finding, style: Style) -> Iterator[str]:
    """What is known beside the allocation, each part with its own small stack."""
    if finding.birth:
        yield from _section(
            "the last reference was created here:", finding.birth, style
        )
    if finding.loss:
        slot = f" (`{printable(finding.loss.slot)}`)" if finding.loss.slot else ""
        cause = f"the last reference was lost here, {finding.loss.cause.value}{slot}:"
        yield from _section(cause, finding.loss.stack, style)
    if finding.last_access:
        yield from _section("last used here:", finding.last_access, style)
    for freed in finding.sibling_frees:
        yield from _section("blocks like these are freed here:", freed, style)
    for step in finding.path:
        file = printable(relative_path(step.file, style.folder))
        yield f"{_INDENT}{file}:{step.line}: {printable(step.event)}"


def _section(title: str, stack: Stack, style: Style) -> Iterator[str]:
    yield f"   {style.paint(title, Role.TITLE)}"
    yield from stack_lines(stack, style, _INDENT)


def _remarks(finding: Finding, report: Report, style: Style) -> Iterator[str]:
    for sentence in _sentences(finding, report, style):
        yield f"   {style.paint('note:', Role.QUIET)} {sentence}"
    if finding.advice:
        yield f"   {style.paint('help:', Role.CALM)} {printable(finding.advice)}"


def _sentences(finding: Finding, report: Report, style: Style) -> Iterator[str]:
    if finding.leader:
        yield f"only lost blocks lead here, {_leader(finding.leader, style)}"
    if finding.staleness:
        yield f"unused for {_interval(finding.staleness)}"
    if len(report.run.processes) > 1 and finding.processes:
        concerned = len(set(finding.processes))
        yield f"in {concerned:,} of {plural(len(report.run.processes), 'process')}"
    yield from map(printable, finding.notes)


def _leader(leader: Stack, style: Style) -> str:
    frame = first_own_frame(leader) or next(iter(leader.frames), None)
    if frame is None:
        return "allocated by an unknown stack"
    function = printable(frame.function) or "??"
    return f"allocated by {function} at {place_of(frame, style)}"


def _interval(staleness: Staleness) -> str:
    lower, upper = staleness.lower_s, staleness.upper_s
    if lower is None:
        return "an unknown time" if upper is None else f"at most {upper:.1f} s of CPU"
    if upper is None:
        return f"at least {lower:.1f} s of CPU time"
    return f"{lower:.1f} to {upper:.1f} s of CPU time"


def _leaked_bytes(report: Report) -> int:
    return sum(
        finding.bytes
        for finding in report.findings + report.hidden
        if finding.kind is not Kind.REACHABLE
    )
