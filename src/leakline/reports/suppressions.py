"""Writes suppressions for findings, for Leakline, Valgrind and LeakSanitizer to read."""

import re
from collections.abc import Iterable, Iterator

from leakline.model.finding import Finding, Kind
from leakline.model.stack import Frame
from leakline.reports.places import first_own_frame, frames_worth_showing
from leakline.reports.printable import printable
from leakline.reports.quantities import bytes_in_words, plural

_DEEPEST = 24  # Valgrind refuses suppressions with more lines
_VALGRIND_KINDS = {
    Kind.LOST: "definite",
    Kind.INDIRECT: "indirect",
    Kind.REACHABLE: "reachable",
}


def valgrind(findings: Iterable[Finding]) -> str:
    """One entry per finding that has a call stack and a kind Valgrind knows."""
    entries = (valgrind_entry(finding) for finding in findings)
    return "".join("\n".join(lines) + "\n" for lines in entries if lines)


def valgrind_entry(finding: Finding) -> tuple[str, ...]:
    """The lines of the entry for one finding; none when Valgrind knows no such kind."""
    if finding.kind not in _VALGRIND_KINDS or not finding.allocation.frames:
        return ()
    return tuple(_valgrind_entry(finding))


def lsan(findings: Iterable[Finding]) -> str:
    """One line per function that allocated leaked blocks, with what it leaked."""
    lines: dict[str, str] = {}
    for finding in findings:
        frame = first_own_frame(finding.allocation) or next(
            iter(finding.allocation.frames), None
        )
        subject = _lsan_subject(frame) if frame else ""
        if subject:
            lines.setdefault(f"leak:{subject}", _amount(finding))
    return "".join(f"# {amount}\n{line}\n" for line, amount in lines.items())


def _valgrind_entry(finding: Finding) -> Iterator[str]:
    yield "{"
    yield f"   leakline-{printable(finding.id)}"
    yield "   Memcheck:Leak"
    yield f"   match-leak-kinds: {_VALGRIND_KINDS[finding.kind]}"
    # Stands for the allocation function, which is on Valgrind's stacks only.
    yield "   ..."
    frames = frames_worth_showing(finding.allocation)[: _DEEPEST - 1]
    for index, frame in enumerate(frames):
        if index == finding.allocation.folded_at:
            yield "   ..."
            break
        yield f"   {_valgrind_frame(frame)}"
    yield "}"


def _valgrind_frame(frame: Frame) -> str:
    mangled = frame.symbol.startswith(("_Z", "_R"))
    name = frame.symbol if mangled else frame.function
    if name:
        return f"fun:{_pattern(name, any_one='?')}"
    return f"obj:{_pattern(frame.module, any_one='?')}" if frame.module else "obj:*"


def _lsan_subject(frame: Frame) -> str:
    name = _pattern(frame.function or frame.module, any_one="*")
    # At the ends these would mean "starts with" and "ends with".
    return re.sub(r"^\^|\$$", "*", name)


def _pattern(name: str, any_one: str) -> str:
    """The name, with a wildcard for each character that a file should not hold."""
    return "".join(c if c.isprintable() else any_one for c in name)


def _amount(finding: Finding) -> str:
    return (
        f"{finding.kind.value}: {bytes_in_words(finding.bytes)} "
        f"in {plural(finding.blocks, 'block')}"
    )
