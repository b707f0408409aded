"""Findings as Valgrind's XML output, protocol 4, as Memcheck writes it.

What is known beside the allocation, the loss first, stands in auxiliary stacks. As with
Memcheck, `leakedbytes` of a lost block counts what is lost with it.
"""

import posixpath
from collections.abc import Callable, Iterator
from pathlib import Path

from leakline.model.finding import Finding
from leakline.model.report import Process, Report
from leakline.model.stack import Frame, Stack
from leakline.reports.evidence import titled_stacks
from leakline.reports.memcheck_words import is_memory, memcheck_words
from leakline.reports.suppressions import valgrind_entry
from leakline.reports.xml import HEADER, element, lines_element

_NO_PROCESS = Process(0, (), "")
_NO_FRAME = Frame()


def render(report: Report, _folder: Path, *, suppressions: bool = False) -> str:
    """The whole document; paths stay absolute, as in Valgrind's.

    With `suppressions`, as with --gen-suppressions=all, each error carries the entry
    that hides it.
    """
    write_suppression = _suppression if suppressions else _no_suppression
    return "\n".join([HEADER, "", *_document(report, write_suppression), ""])


def _document(
    report: Report, write_suppression: Callable[[Finding], Iterator[str]]
) -> Iterator[str]:
    yield "<valgrindoutput>"
    yield element("protocolversion", 4)
    yield element("protocoltool", "memcheck")
    yield from _preamble(report)
    yield from _status("RUNNING")
    yield from _status("FINISHED")
    stacks = _Stacks()
    for number, finding in enumerate(report.findings):
        yield "<error>"
        yield from _error(number, len(report.findings), finding, stacks)
        yield from write_suppression(finding)
        yield "</error>"
    yield "<errorcounts>"
    yield "</errorcounts>"
    yield from _suppressed(report)
    yield "</valgrindoutput>"


def _preamble(report: Report) -> Iterator[str]:
    command = report.run.command
    yield "<preamble>"
    yield element("line", "Leakline, a memory leak finder")
    yield element("line", f"Command: {' '.join(command)}")
    for sentence in report.run.not_seen:
        yield element("line", f"Not seen: {sentence}")
    yield "</preamble>"
    yield element("pid", next(iter(report.run.processes), _NO_PROCESS).pid)
    yield element("ppid", 0)
    yield element("tool", "memcheck")
    yield "<args>"
    yield f"<vargv>{element('exe', 'leakline')}</vargv>"
    arguments = "".join(element("arg", word) for word in command[1:])
    yield f"<argv>{element('exe', command[0] if command else '??')}{arguments}</argv>"
    yield "</args>"


def _status(state: str) -> Iterator[str]:
    # Times would make two reports of one recording differ.
    time = element("time", "00:00:00:00.000 ")
    yield f"<status>{element('state', state)}{time}</status>"


def _error(
    number: int, total: int, finding: Finding, stacks: "_Stacks"
) -> Iterator[str]:
    yield f"  {element('unique', f'{number:#x}')}"
    yield f"  {element('tid', 1)}"
    yield from _what(number, total, finding)
    yield from stacks.written(finding.allocation)
    for title, stack in titled_stacks(finding):
        yield f"  {element('auxwhat', title)}"
        yield from stacks.written(stack)


def _suppression(finding: Finding) -> Iterator[str]:
    lines = valgrind_entry(finding)
    if not lines:
        return
    name, kind, *rest = (line.strip() for line in lines[1:-1])
    yield "  <suppression>"
    yield f"    {element('sname', name)}"
    yield f"    {element('skind', kind)}"
    yield from map(_suppressed_frame, rest)
    yield f"    {lines_element('rawtext', lines)}"
    yield "  </suppression>"


def _suppressed_frame(line: str) -> str:
    word, _, value = line.partition(":")
    match word:
        case "match-leak-kinds":
            return f"    {element('skaux', line)}"
        case "fun" | "obj":
            return f"    <sframe>{element(word, value)}</sframe>"
        case _:
            return "    <sframe></sframe>"


def _no_suppression(_finding: Finding) -> Iterator[str]:
    return iter(())


def _what(number: int, total: int, finding: Finding) -> Iterator[str]:
    kind, sentence = memcheck_words(number, total, finding)
    yield f"  {element('kind', kind)}"
    if not is_memory(finding.kind):
        yield f"  {element('what', sentence)}"
        return
    yield "  <xwhat>"
    yield f"    {element('text', sentence)}"
    yield f"    {element('leakedbytes', finding.bytes + finding.indirect_bytes)}"
    yield f"    {element('leakedblocks', finding.blocks)}"
    yield "  </xwhat>"


class _Stacks:
    """Writes stacks; each frame only once."""

    def __init__(self) -> None:
        # Many stacks share their frame objects, by id, for the life of the report.
        self._frames: dict[int, str] = {}

    def written(self, stack: Stack) -> Iterator[str]:
        yield "  <stack>"
        # The protocol asks for at least one frame.
        yield from map(self._frame, stack.frames or (_NO_FRAME,))
        yield "  </stack>"

    def _frame(self, frame: Frame) -> str:
        written = self._frames.get(id(frame))
        if written is None:
            written = f"    <frame>{''.join(_frame(frame))}</frame>"
            self._frames[id(frame)] = written
        return written


def _frame(frame: Frame) -> Iterator[str]:
    yield element("ip", f"{frame.offset:#X}".replace("X", "x"))
    if frame.module:
        yield element("obj", frame.module)
    if frame.function:
        yield element("fn", frame.function)
    folder, name = posixpath.split(frame.file)
    # Readers expect the folder only together with the file and the line.
    if folder and frame.line:
        yield element("dir", folder)
    if name:
        yield element("file", name)
    if frame.line:
        yield element("line", frame.line)


def _suppressed(report: Report) -> Iterator[str]:
    counts: dict[str, int] = {}
    for name, finding in report.suppressed:
        counts[name] = counts.get(name, 0) + finding.blocks
    yield "<suppcounts>"
    for name, count in counts.items():
        yield f"  <pair>{element('count', count)}{element('name', name)}</pair>"
    yield "</suppcounts>"
