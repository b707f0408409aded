"""Suppressions: which findings a user does not want to hear of again.

A suppression matches a call stack. Valgrind's kind describes the stack from the
allocation outwards; LeakSanitizer's names something that appears anywhere on it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Protocol

from leakline.model.finding import Finding, Kind
from leakline.model.report import Report
from leakline.model.stack import Frame, Stack
from leakline.triage.patterns import lsan_pattern, valgrind_pattern

# Valgrind's stacks begin with the allocation function; ours begin at its caller.
ALLOCATION_FUNCTIONS = (
    "malloc",
    "calloc",
    "realloc",
    "reallocarray",
    "memalign",
    "aligned_alloc",
    "posix_memalign",
    "valloc",
    "pvalloc",
    "_Znwm",
    "_Znam",
    "_ZnwmRKSt9nothrow_t",
    "_ZnamRKSt9nothrow_t",
    "_ZnwmSt11align_val_t",
    "_ZnamSt11align_val_t",
    "operator new(unsigned long)",
    "operator new[](unsigned long)",
)
ALLOCATION_OBJECT = "vgpreload_memcheck-amd64-linux.so"


class Suppression(Protocol):
    """One entry of a suppression file."""

    @property
    def name(self) -> str:
        """What the entry calls itself."""

    @property
    def origin(self) -> str:
        """File and line; empty when the program itself brought it along.

        Only what a user wrote is worth listing as unused.
        """

    def matches(self, kind: Kind, stack: Stack) -> bool:
        """Whether blocks of this kind, allocated by this stack, are to be hidden."""


class Part(Enum):
    """What of a frame a pattern describes."""

    FUNCTION = "fun"
    OBJECT = "obj"
    SOURCE = "src"
    ANY_FRAMES = "..."  # any number of frames, of which nothing is said


@dataclass(frozen=True, slots=True)
class FramePattern:
    """One line of a Valgrind suppression."""

    part: Part
    pattern: str = ""

    def matches(self, frame: Frame) -> bool:
        """Whether the frame has what the line asks for."""
        match = valgrind_pattern(self.pattern)
        return any(map(match, _texts(frame, self.part)))

    def matches_allocator(self) -> bool:
        """Whether the line can stand for the allocation function itself."""
        match = valgrind_pattern(self.pattern)
        if self.part is Part.FUNCTION:
            return any(map(match, ALLOCATION_FUNCTIONS))
        return self.part is Part.OBJECT and match(ALLOCATION_OBJECT)


@dataclass(frozen=True, slots=True)
class StackSuppression:
    """An entry in Valgrind's format; `kinds` None means every kind."""

    name: str
    origin: str
    patterns: tuple[FramePattern, ...]
    kinds: frozenset[Kind] | None = None

    def matches(self, kind: Kind, stack: Stack) -> bool:
        """Matches from the innermost frame; frames behind the last line are free."""
        if self.kinds is not None and kind not in self.kinds:
            return False
        return _matches_from(self.patterns, stack.frames) or (
            self.patterns[0].matches_allocator()
            and _matches_from(self.patterns[1:], stack.frames)
        )


@dataclass(frozen=True, slots=True)
class AnywhereSuppression:
    """A `leak:` line in LeakSanitizer's format."""

    name: str
    origin: str
    pattern: str

    def matches(self, kind: Kind, stack: Stack) -> bool:  # noqa: ARG002 (all kinds)
        """Looks for the pattern in every function, file and module of the stack."""
        match = lsan_pattern(self.pattern)
        return any(
            match(text)
            for frame in stack.frames
            for part in (Part.FUNCTION, Part.OBJECT, Part.SOURCE)
            for text in _texts(frame, part)
        )


def apply_suppressions(report: Report, suppressions: Sequence[Suppression]) -> Report:
    """Moves what is suppressed aside, each with the first suppression that hides it.

    Blocks that only suppressed blocks lead to are suppressed with them.
    """
    if not suppressions:
        return report
    shown: list[Finding] = []
    hidden: list[tuple[str, Finding]] = []
    used: set[int] = set()
    for finding in report.findings:
        index = _first_match(suppressions, finding)
        if index is None:
            shown.append(finding)
        else:
            used.add(index)
            hidden.append((suppressions[index].name, finding))
    unused = _unused(suppressions, used)
    return replace(
        report,
        findings=tuple(shown),
        suppressed=report.suppressed + tuple(hidden),
        unused_suppressions=report.unused_suppressions + unused,
    )


def _first_match(suppressions: Sequence[Suppression], finding: Finding) -> int | None:
    for index, suppression in enumerate(suppressions):
        if suppression.matches(finding.kind, finding.allocation):
            return index
        if finding.leader and suppression.matches(Kind.LOST, finding.leader):
            return index
    return None


def _unused(suppressions: Iterable[Suppression], used: set[int]) -> tuple[str, ...]:
    return tuple(
        f"{suppression.name} ({suppression.origin})"
        for index, suppression in enumerate(suppressions)
        if index not in used and suppression.origin
    )


def _matches_from(patterns: Sequence[FramePattern], frames: Sequence[Frame]) -> bool:
    """Follows all ways of matching at once, so `...` lines cost no backtracking."""
    positions = {0}
    for pattern in patterns:
        if pattern.part is Part.ANY_FRAMES:
            positions = set(range(min(positions), len(frames) + 1))
        else:
            positions = {
                position + 1
                for position in positions
                if position < len(frames) and pattern.matches(frames[position])
            }
        if not positions:
            return False
    return True


def _texts(frame: Frame, part: Part) -> tuple[str, ...]:
    """The texts of a frame that a pattern may match; never an empty one."""
    texts: tuple[str, ...]
    match part:
        case Part.FUNCTION:
            texts = (frame.function, frame.symbol, without_parameters(frame.function))
        case Part.OBJECT:
            texts = (frame.module, _last_part(frame.module))
        case Part.SOURCE:
            texts = _source_texts(frame)
        case Part.ANY_FRAMES:
            texts = ()
    return tuple(text for text in texts if text)


def _source_texts(frame: Frame) -> tuple[str, ...]:
    paths = (frame.file, _last_part(frame.file))
    return paths + tuple(f"{path}:{frame.line}" for path in paths if path)


def _last_part(path: str) -> str:
    return path.rpartition("/")[2]


def without_parameters(function: str) -> str:
    """The qualified name of a C++ function without its parameter list."""
    end = len(function)
    if not function.removesuffix(" const").endswith(")"):
        return function
    depth = 0
    for index in range(end - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(function[index], 0)
        if function[index] == "(" and depth == 0:
            return function[:index]
    return function
