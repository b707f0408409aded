"""The report that people read in a terminal or a log."""

import shlex
import textwrap
from collections.abc import Iterator

from leakline.model.finding import (
    HELD,
    Confidence,
    Finding,
    Kind,
    Loss,
    Reference,
    Staleness,
)
from leakline.model.report import LensState, Report
from leakline.model.stack import Stack
from leakline.reports.evidence import (
    birth_title,
    is_born_at_allocation,
    loss_title,
    path_title,
    reference_title,
    titled_uses,
)
from leakline.reports.frames import StackPrinter
from leakline.reports.headlines import is_confirmed_by_both
from leakline.reports.places import first_own_frame, relative_path
from leakline.reports.printable import printable
from leakline.reports.quantities import bytes_in_words, plural, share
from leakline.reports.style import Role, Style
from leakline.reports.summary import summary_lines

_INDENT = "     "
_NARROWEST_REMARK = 30
_KIND_ROLES = {
    Kind.LOST: Role.ALARM,
    Kind.INDIRECT: Role.WARNING,
    Kind.STALE: Role.WARNING,
    Kind.NEVER_USED: Role.WARNING,
    Kind.REACHABLE: Role.TITLE,
}


def render(report: Report, style: Style) -> str:
    """The whole report; ends with a newline."""
    lines = [_heading(report, style), ""]
    printer = _FindingPrinter(report, style)
    for number, finding in enumerate(report.findings, start=1):
        lines += [*printer.lines(number, finding), ""]
    lines += summary_lines(report, style)
    return "\n".join(lines) + "\n"


def _heading(report: Report, style: Style) -> str:
    command = printable(shlex.join(report.run.command))
    title = style.paint("Leakline", Role.TITLE)
    return f"{title}  {_verdict(report, style)}  {command}".rstrip()


def _verdict(report: Report, style: Style) -> str:
    leaks = _leaks(report)
    if not leaks and LensState.ACTIVE not in dict(report.run.lenses).values():
        return style.paint("nothing was checked", Role.ALARM)
    new = "new " if report.comparison else ""
    if not leaks:
        return _verdict_without_leaks(report, new, style)
    size = sum(finding.bytes for finding in leaks)
    blocks = sum(finding.blocks for finding in leaks)
    text = f"{plural(len(leaks), f'{new}leak')}: {bytes_in_words(size)}"
    return style.paint(f"{text} in {plural(blocks, 'block')}", Role.ALARM)


def _verdict_without_leaks(report: Report, new: str, style: Style) -> str:
    found = report.findings + report.hidden
    stale = [one for one in found if one.kind in HELD - {Kind.REACHABLE}]
    if stale:
        size = bytes_in_words(sum(finding.bytes for finding in stale))
        places = plural(len(stale), "place")
        return style.paint(f"unused memory at {places}: {size}", Role.WARNING)
    active = {name for name, state in report.run.lenses if state is LensState.ACTIVE}
    looked_for = "unused memory" if active == {"pages"} else f"{new}leaks"
    return style.paint(f"no {looked_for} found", Role.CALM)


def _leaks(report: Report) -> list[Finding]:
    found = report.findings + report.hidden
    return [finding for finding in found if finding.kind not in HELD]


class _FindingPrinter:
    def __init__(self, report: Report, style: Style) -> None:
        self._style = style
        self._stacks = StackPrinter(style)
        self._process_count = len(report.run.processes)
        self._leaked_bytes = sum(finding.bytes for finding in _leaks(report))

    def lines(self, number: int, finding: Finding) -> Iterator[str]:
        yield self._header(number, finding)
        if finding.loss and finding.loss.stack.frames:
            yield from self._loss(finding, finding.loss)
        yield from self._stacks.allocation(finding.allocation, _INDENT)
        yield from self._evidence(finding)
        for sentence in self._notes(finding):
            yield from self._remark("note:", Role.QUIET, sentence)
        if finding.advice:
            yield from self._remark("help:", Role.CALM, printable(finding.advice))

    def _remark(self, label: str, role: Role, sentence: str) -> Iterator[str]:
        """A labelled sentence, broken to the width of the terminal."""
        margin = f"   {' ' * len(label)} "
        lines = [sentence]
        if self._style.width is not None:
            room = max(self._style.width - len(margin), _NARROWEST_REMARK)
            lines = textwrap.wrap(sentence, room, break_long_words=False) or lines
        yield f"   {self._style.paint(label, role)} {lines[0]}"
        yield from (margin + line for line in lines[1:])

    def _header(self, number: int, finding: Finding) -> str:
        role = _KIND_ROLES.get(finding.kind, Role.ALARM)
        kind = self._style.paint(finding.kind.value, role)
        if finding.confidence is not Confidence.EXACT:
            kind += f" ({finding.confidence.value})"
        if is_confirmed_by_both(finding):
            kind += " (confirmed by both)"
        amount = f"{bytes_in_words(finding.bytes)} in {plural(finding.blocks, 'block')}"
        if finding.indirect_blocks:
            amount += (
                f", and with them {bytes_in_words(finding.indirect_bytes)} in "
                f"{plural(finding.indirect_blocks, 'block')}"
            )
        return f"#{number:<3} {kind}  {amount}{self._share(finding)}"

    def _share(self, finding: Finding) -> str:
        """What mending this leak would save of all that leaked."""
        if finding.kind in HELD or not self._leaked_bytes:
            return ""
        saved = min(finding.bytes + finding.indirect_bytes, self._leaked_bytes)
        return f"  ({share(saved, self._leaked_bytes)})"

    def _loss(self, finding: Finding, loss: Loss) -> Iterator[str]:
        """Where the block was lost comes first: that is the place to mend."""
        yield self._title(loss_title(finding, loss))
        yield from self._stacks.allocation(loss.stack, _INDENT)
        birth = birth_title(finding, "that reference")
        if is_born_at_allocation(finding) and not self._style.verbose:
            yield self._title(f"{birth}, and the block allocated:")
            return
        if finding.birth:
            yield self._title(f"{birth}:")
            yield from self._stacks.allocation(finding.birth, _INDENT)
        yield self._title("allocated here:")

    def _title(self, text: str) -> str:
        return f"   {self._style.paint(text, Role.TITLE)}"

    def _evidence(self, finding: Finding) -> Iterator[str]:
        """What is known beside the allocation, each part with its own small stack."""
        for title, stack in _titled_stacks(finding):
            yield self._title(title)
            yield from self._stacks.stack(stack, _INDENT)
        for reference in finding.references:
            yield from self._reference(reference)
        if finding.path:
            yield self._title(f"{path_title(finding)}:")
        for step in finding.path:
            file = printable(relative_path(step.file, self._style.folder))
            yield f"{_INDENT}{file}:{step.line}: {printable(step.event)}"

    def _reference(self, reference: Reference) -> Iterator[str]:
        """Who still refers to the blocks, and where that began."""
        title = reference_title(reference)
        if reference.holder:
            title += f" {self._allocated_by(reference.holder)}"
        if reference.birth is None:
            yield self._title(title)
            return
        yield self._title(f"{title}; that reference was created here:")
        yield from self._stacks.stack(reference.birth, _INDENT)

    def _notes(self, finding: Finding) -> Iterator[str]:
        if finding.leader:
            yield f"only lost blocks lead here, {self._allocated_by(finding.leader)}"
        if finding.staleness:
            yield f"unused for {_interval(finding.staleness)}"
        if self._process_count > 1 and finding.processes:
            concerned = len(set(finding.processes))
            yield f"in {concerned:,} of {plural(self._process_count, 'process')}"
        yield from map(printable, finding.notes)

    def _allocated_by(self, leader: Stack) -> str:
        frame = first_own_frame(leader) or next(iter(leader.frames), None)
        if frame is None:
            return "allocated by an unknown stack"
        function = self._stacks.name(frame)
        return f"allocated by {function} at {self._stacks.place(frame)}"


def _titled_stacks(finding: Finding) -> Iterator[tuple[str, Stack]]:
    if finding.birth and not (finding.loss and finding.loss.stack.frames):
        yield f"{birth_title(finding)}:", finding.birth
    yield from titled_uses(finding)


def _interval(staleness: Staleness) -> str:
    lower, upper = staleness.lower_s, staleness.upper_s
    if lower is None:
        return "an unknown time" if upper is None else f"at most {upper:.1f} s of CPU"
    if upper is None:
        return f"at least {lower:.1f} s of CPU time"
    return f"{lower:.1f} to {upper:.1f} s of CPU time"
