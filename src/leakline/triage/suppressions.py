"""Suppressions: which findings a user does not want to hear of again.

A suppression matches a call stack. Valgrind's kind describes the stack from the
allocation outwards; LeakSanitizer's names something that appears anywhere on it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Protocol

from leakline.model.finding import Finding, Kind
from leakline.model.report import Report
from leakline.model.stack import Frame, Stack
from leakline.triage.patterns import lsan_pattern, valgrind_pattern

# Whether blocks of a kind, allocated by a stack, are to be hidden.
StackTest = Callable[[Kind, Stack], bool]

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

    def among(self, frames: Sequence[Frame]) -> StackTest | None:
        """A test for stacks that consist of these very frame objects.

        None when no such stack can match. Each frame is looked at once here, however
        many stacks it is on.
        """


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

    def among(self, frames: Sequence[Frame]) -> StackTest | None:
        """Tests from the innermost frame; frames behind the last line are free."""
        lines = [_matching(pattern, frames) for pattern in self.patterns]
        allocator_first = self.patterns[0].matches_allocator()
        behind_first = lines[1:]
        if any(line == set() for line in behind_first):
            return None
        if lines[0] == set() and not allocator_first:
            return None

        def test(kind: Kind, stack: Stack) -> bool:
            if self.kinds is not None and kind not in self.kinds:
                return False
            return _matches_from(lines, stack.frames) or (
                allocator_first and _matches_from(behind_first, stack.frames)
            )

        return test


@dataclass(frozen=True, slots=True)
class AnywhereSuppression:
    """A `leak:` line in LeakSanitizer's format; it covers every kind."""

    name: str
    origin: str
    pattern: str

    def among(self, frames: Sequence[Frame]) -> StackTest | None:
        """Looks for the pattern in every function, file and module of a stack."""
        match = lsan_pattern(self.pattern)
        hits = {id(frame) for frame in frames if any(map(match, _all_texts(frame)))}
        if not hits:
            return None
        return lambda _, stack: any(id(frame) in hits for frame in stack.frames)


def apply_suppressions(report: Report, suppressions: Sequence[Suppression]) -> Report:
    """Moves what is suppressed aside, each with the first suppression that hides it.

    Blocks that only suppressed blocks lead to are suppressed with them.
    """
    if not suppressions:
        return report
    frames = _distinct_frames(report.findings)
    tests = [suppression.among(frames) for suppression in suppressions]
    shown: list[Finding] = []
    hidden: list[tuple[str, Finding]] = []
    used: set[int] = set()
    for finding in report.findings:
        index = _first_match(tests, finding)
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


def _distinct_frames(findings: Iterable[Finding]) -> list[Frame]:
    """The frame objects of all stacks; stacks that share calls share the objects."""
    frames = {
        id(frame): frame
        for finding in findings
        for stack in (finding.allocation, finding.leader)
        if stack is not None
        for frame in stack.frames
    }
    return list(frames.values())


def _first_match(tests: Iterable[StackTest | None], finding: Finding) -> int | None:
    for index, test in enumerate(tests):
        if test is None:
            continue
        if test(finding.kind, finding.allocation):
            return index
        if finding.leader and test(Kind.LOST, finding.leader):
            return index
    return None


def _unused(suppressions: Iterable[Suppression], used: set[int]) -> tuple[str, ...]:
    return tuple(
        f"{suppression.name} ({suppression.origin})"
        for index, suppression in enumerate(suppressions)
        if index not in used and suppression.origin
    )


def _matching(pattern: FramePattern, frames: Iterable[Frame]) -> set[int] | None:
    """Ids of the frame objects a line matches; None for a line of any frames."""
    if pattern.part is Part.ANY_FRAMES:
        return None
    match = valgrind_pattern(pattern.pattern)
    return {
        id(frame) for frame in frames if any(map(match, _texts(frame, pattern.part)))
    }


def _matches_from(lines: Sequence[set[int] | None], frames: Sequence[Frame]) -> bool:
    """Follows all ways of matching at once, so `...` lines cost no backtracking."""
    positions = {0}
    for line in lines:
        if line is None:
            positions = set(range(min(positions), len(frames) + 1))
        else:
            positions = {
                position + 1
                for position in positions
                if position < len(frames) and id(frames[position]) in line
            }
        if not positions:
            return False
    return True


def _all_texts(frame: Frame) -> Iterator[str]:
    for part in (Part.FUNCTION, Part.OBJECT, Part.SOURCE):
        yield from _texts(frame, part)


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
