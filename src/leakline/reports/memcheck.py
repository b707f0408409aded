"""Findings as the text that Memcheck prints, line by line with the process's number.

Tools that read the log of `valgrind --leak-check=full`, CTest among them, read this one.
"""

import posixpath
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

from leakline.model.finding import HELD, Finding, Kind
from leakline.model.report import LensState, Report
from leakline.model.stack import Frame, Stack
from leakline.reports.evidence import titled_stacks
from leakline.reports.memcheck_words import memcheck_words
from leakline.reports.places import frames_worth_showing
from leakline.reports.printable import printable
from leakline.reports.suppressions import valgrind_entry

_NO_FRAME = Frame()
# Lines of the summary in Memcheck's order, each with the kinds that it counts.
_SUMMARY = (
    ("   definitely lost", (Kind.LOST,)),
    ("   indirectly lost", (Kind.INDIRECT,)),
    ("     possibly lost", ()),
    ("   still reachable", HELD),
)


def render(
    report: Report, _folder: Path, *, quiet: bool = False, suppressions: bool = False
) -> str:
    """The log; paths are files' names only, as in Memcheck's.

    With `quiet`, as with Memcheck's -q, only errors are told. With `suppressions`, as
    with --gen-suppressions=all, each error is followed by the entry that hides it, on
    lines without the process's number.
    """
    pid = next((process.pid for process in report.run.processes), 0)
    log = _numbered(pid, _blindness(report) if quiet else _opening(report))
    for number, finding in enumerate(report.findings):
        log += _numbered(pid, _error(number, len(report.findings), finding))
        if suppressions:
            log += "".join(f"{line}\n" for line in valgrind_entry(finding))
    return log if quiet else log + _numbered(pid, _summary(report))


def _numbered(pid: int, lines: Iterable[str]) -> str:
    return "".join(f"=={pid}== {printable(line)}\n" for line in lines)


def _opening(report: Report) -> Iterator[str]:
    yield "Leakline, a memory leak finder; the log is written as Memcheck does"
    yield f"Command: {shlex.join(report.run.command)}"
    yield ""
    yield from _blindness(report)
    for sentence in report.run.not_seen:
        yield f"Not seen: {sentence}"
    yield from _heap(report)


def _blindness(report: Report) -> Iterator[str]:
    if LensState.ACTIVE not in dict(report.run.lenses).values():
        yield "Nothing was checked."


def _error(number: int, total: int, finding: Finding) -> Iterator[str]:
    yield memcheck_words(number, total, finding)[1]
    yield from _stack(finding.allocation)
    for title, stack in titled_stacks(finding):
        yield f" {title.removesuffix(':')}"
        yield from _stack(stack)
    yield ""


def _heap(report: Report) -> Iterator[str]:
    processes = report.run.processes
    live_bytes = sum(process.live_bytes for process in processes)
    live_blocks = sum(process.live_blocks for process in processes)
    allocations = sum(process.allocations for process in processes)
    yield "HEAP SUMMARY:"
    yield f"    in use at exit: {live_bytes:,} bytes in {live_blocks:,} blocks"
    frees = max(0, allocations - live_blocks)
    yield f"  total heap usage: {allocations:,} allocs, {frees:,} frees"
    yield ""


def _stack(stack: Stack) -> Iterator[str]:
    frames = frames_worth_showing(stack) or (_NO_FRAME,)
    for index, frame in enumerate(frames):
        word = "by" if index else "at"
        name = frame.function or "???"
        yield f"   {word} {f'{frame.offset:#X}'.replace('X', 'x')}: {name} {_place(frame)}"


def _place(frame: Frame) -> str:
    if frame.file:
        name = posixpath.basename(frame.file)
        return f"({name}:{frame.line})" if frame.line else f"({name})"
    return f"(in {frame.module})" if frame.module else "(in ???)"


def _summary(report: Report) -> Iterator[str]:
    yield "LEAK SUMMARY:"
    found = report.findings + report.hidden
    for title, kinds in _SUMMARY:
        yield f"{title}: {_amount(one for one in found if one.kind in kinds)}"
    suppressed = _amount(finding for _, finding in report.suppressed)
    yield f"        suppressed: {suppressed}"
    yield ""
    errors = [one for one in report.findings if one.kind not in HELD]
    count = len(report.suppressed)
    yield (
        f"ERROR SUMMARY: {len(errors)} errors from {len(errors)} contexts "
        f"(suppressed: {count} from {count})"
    )


def _amount(findings: Iterator[Finding]) -> str:
    counted = list(findings)
    size = sum(finding.bytes for finding in counted)
    return f"{size:,} bytes in {sum(one.blocks for one in counted):,} blocks"
