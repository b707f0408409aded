"""Injected leaks as a user looks for them: with the options of `leakline run` alone.

The other runs are too short for the default predicate, which is `idle>1s`, and measure
idle times by the length of the run. These are longer, and nothing is adjusted.
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks import accuracy_redis
from benchmarks.accuracy_injected import (
    PROGRAMS_RUN,
    Block,
    Outcome,
    Run,
    command,
    run_injected,
)
from benchmarks.modes import make_plans
from benchmarks.workloads import PROGRAMS

STALE_MS = 1000  # idle for longer: the default predicate
MARGIN_MS = 250  # older than that: a block may be used until its free
TREES = PROGRAMS / "trees.lua"

LONGER: dict[str, Run] = {
    "sqlite": command(
        "sqlite3", ":memory:", *[f".read {PROGRAMS / 'queries.sql'}"] * 4
    ),
    "lua": command(
        "lua5.4", "-e", f"arg = table.pack(14); for i = 1, 3 do dofile('{TREES}') end"
    ),
    "perl": command("perl", str(PROGRAMS / "words.pl"), "{text}", text_bytes=36 << 20),
    "cppcheck": PROGRAMS_RUN["cppcheck"],
    "redis": partial(accuracy_redis.serve, rounds=2 * accuracy_redis.SERVED_ROUNDS),
}


@dataclass(frozen=True, slots=True)
class Found:
    """What came of the leaks of one run.

    Attributes:
        old: Blocks leaked long enough before the end to be stale.
        reported: Those of them that were reported.
        windows: Of full arming in the run.
    """

    cpu_s: float
    old: int
    reported: int
    windows: int

    def is_good(self) -> bool:
        """Whether all were found, if there were any."""
        return 0 < self.old == self.reported


def measure(program: str, seed: int, scratch: Path) -> Found:
    """Run one program, once more when plans were missing."""
    run = LONGER[program]
    run_injected(run, "lens=reach,accesses", scratch)
    make_plans(scratch)
    outcome = run_injected(run, f"lens=reach,accesses:skip_free_seed={seed}", scratch)
    old = [block for block in outcome.blocks.values() if _is_old(block, outcome)]
    return Found(
        outcome.cpu_ms / 1000,
        len(old),
        sum(block.windows > 0 and block.idle_ms > STALE_MS for block in old),
        max((block.windows for block in outcome.blocks.values()), default=0),
    )


def _is_old(block: Block, outcome: Outcome) -> bool:
    return (
        block.leaked_ms is not None
        and outcome.cpu_ms - block.leaked_ms > STALE_MS + MARGIN_MS
    )


def render(program: str, seed: int, found: Found) -> str:
    """One line."""
    return (
        f"{program}, seed {seed}, {found.cpu_s:.1f} s, {found.windows} windows: "
        f"{found.reported:,} of {found.old:,} blocks leaked long ago are stale by "
        "the default predicate"
    )
