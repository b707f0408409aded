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
class Process:
    """One watched process, or a check of source code (pid 0).

    Attributes:
        ended: How it ended, in words: "exit 0", "signal 15 (SIGTERM)", "exec".
        live_blocks: Blocks not freed at the end.
        live_bytes: Their total requested size.
        allocations: Calls that returned a block.
        peak_bytes: Most requested bytes alive at one time; 0 when not counted.
    """

    pid: int
    command: tuple[str, ...]
    ended: str
    live_blocks: int = 0
    live_bytes: int = 0
    allocations: int = 0
    peak_bytes: int = 0


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
        coverage: For a check of source code.
    """

    command: tuple[str, ...]
    exit_code: int | None
    lenses: tuple[tuple[str, LensState], ...]
    not_seen: tuple[str, ...] = ()
    processes: tuple[Process, ...] = ()
    coverage: Coverage | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """Everything a reporter needs; findings are in ranking order.

    Attributes:
        suppressed: Findings hidden by a suppression, with the suppression's name.
        unused_suppressions: Names of suppressions that matched nothing.
        hidden: Findings the user did not ask to see; totals count them.
    """

    run: Run
    findings: tuple[Finding, ...]
    suppressed: tuple[tuple[str, Finding], ...] = ()
    unused_suppressions: tuple[str, ...] = ()
    hidden: tuple[Finding, ...] = ()
