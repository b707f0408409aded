"""A whole run or check: what was looked at, what was not, and what was found."""

from dataclasses import dataclass
from enum import Enum

from leakline.model.finding import Finding


class LensState(Enum):
    """Whether a lens looked at the program."""

    ACTIVE = "active"
    OFF = "off"
    UNAVAILABLE = "unavailable"  # asked for, but could not look


@dataclass(frozen=True, slots=True)
class HeapMoment:
    """The heap of a process at one look.

    Attributes:
        at_s: Seconds since the process began.
        live_blocks: Blocks not freed.
        live_bytes: Their total requested size.
        lost_bytes: Of these, what nothing refers to any more, directly or indirectly.
    """

    at_s: float
    live_blocks: int
    live_bytes: int
    lost_bytes: int


@dataclass(frozen=True, slots=True)
class Process:
    """One watched process, or a check of source code (pid 0).

    Attributes:
        ended: How it ended, in words: "exit 0", "signal 15 (SIGTERM)", "exec".
        live_blocks: Blocks not freed at the end.
        live_bytes: Their total requested size.
        allocations: Calls that returned a block.
        peak_bytes: Most requested bytes alive at one time; 0 when not counted.
        timeline: Its heap at each look, in the order of time.
    """

    pid: int
    command: tuple[str, ...]
    ended: str
    live_blocks: int = 0
    live_bytes: int = 0
    allocations: int = 0
    peak_bytes: int = 0
    timeline: tuple[HeapMoment, ...] = ()


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of the source a check looked at.

    Attributes:
        units: Translation units that were analysed.
        units_failed: Units that could not be read.
        functions: Functions in the analysed units.
        incomplete: Functions not fully analysed, as "name (file:line): reason".
    """

    units: int
    units_failed: int
    functions: int
    incomplete: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """What was run, through which lenses, and what could not be seen.

    Attributes:
        exit_code: Of the program, None when it is not known (still running).
        lenses: Lens name to state, in the order reports show them.
        not_seen: Sentences; empty only when everything was seen.
        remarks: Sentences on what the lenses can promise and what they did.
        coverage: For a check of source code.
    """

    command: tuple[str, ...]
    exit_code: int | None
    lenses: tuple[tuple[str, LensState], ...]
    not_seen: tuple[str, ...] = ()
    processes: tuple[Process, ...] = ()
    coverage: Coverage | None = None
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Growth:
    """A finding that an earlier report has too, with less memory."""

    before: Finding
    now: Finding


@dataclass(frozen=True, slots=True)
class Comparison:
    """What an earlier report, the baseline, knew of the findings of this one.

    Attributes:
        baseline: The baseline as the user named it.
        known: Findings that the baseline has too; the report lists only new ones.
        grown: Those of the known findings that have more bytes or blocks now.
        gone: Findings that only the baseline has.
    """

    baseline: str
    known: tuple[Finding, ...] = ()
    grown: tuple[Growth, ...] = ()
    gone: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """Everything a reporter needs; findings are in ranking order.

    Attributes:
        suppressed: Findings hidden by a suppression, with the suppression's name.
        unused_suppressions: Names of suppressions that matched nothing.
        hidden: Findings the user did not ask to see; totals count them.
        comparison: With an earlier report, when the user named one.
    """

    run: Run
    findings: tuple[Finding, ...]
    suppressed: tuple[tuple[str, Finding], ...] = ()
    unused_suppressions: tuple[str, ...] = ()
    hidden: tuple[Finding, ...] = ()
    comparison: Comparison | None = None
