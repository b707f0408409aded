"""When blocks count as stale: the predicates of lens `accesses`."""

import re
from dataclasses import dataclass
from enum import Enum

from leakline.errors import UsageError

_UNITS_MS = {"": 1000, "ms": 1, "s": 1000, "min": 60_000, "h": 3_600_000}
_TIME = re.compile(r"idle>(\d+(?:\.\d+)?)(ms|s|min|h|)")
_ACTIVE = re.compile(r"idle>(\d+(?:\.\d+)?)\*active")


class Test(Enum):
    """What is asked of a block."""

    NEVER = "never"  # no access to it was ever seen
    IDLE = "idle"  # it was not used for a time
    ACTIVE = "active"  # it was not used for longer than it was in use, times a factor


@dataclass(frozen=True, slots=True)
class Predicate:
    """A test, with the milliseconds or the factor it compares with."""

    test: Test = Test.IDLE
    limit: float = 1000.0

    def holds(self, idle_ms: int, active_ms: int, *, accessed: bool) -> bool:
        """Tell whether blocks idle at least and active at most so long are stale."""
        match self.test:
            case Test.NEVER:
                return not accessed
            case Test.IDLE:
                return idle_ms > self.limit
            case Test.ACTIVE:
                # A tick of the clock is the least that counts as in use.
                return idle_ms > self.limit * max(active_ms, TICK_MS)


# Of the clock that touches are noted with.
TICK_MS = 10


def parse_predicate(text: str) -> Predicate:
    """Read `never`, `idle>T` (seconds, or with a unit) or `idle>N*active`.

    Raises:
        UsageError: It is none of them.
    """
    compact = text.replace(" ", "")
    if compact == "never":
        return Predicate(Test.NEVER, 0)
    if match := _TIME.fullmatch(compact):
        return Predicate(Test.IDLE, float(match[1]) * _UNITS_MS[match[2]])
    if match := _ACTIVE.fullmatch(compact):
        return Predicate(Test.ACTIVE, float(match[1]))
    raise UsageError(
        f"--stale {text!r} is none of never, idle>T (as idle>2s) and idle>N*active"
    )
