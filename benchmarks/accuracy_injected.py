"""Injected leaks as in SWAT's paper: one free in ten of real programs does not happen.

Every free that was left out is in the recording. What full tracing (all code armed at
all times) calls stale is the truth for the others: what a sampled run reports
of them beyond that, counted by allocation stack, is a false positive. Idle times are
compared with a share of each run's CPU time, since traced programs run slower. What lens
pages calls idle is compared block by block with full tracing in the same run.
"""

import os
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from benchmarks import accuracy_redis
from benchmarks.modes import make_plans
from benchmarks.workloads import PROGRAMS, SOURCES, text_file
from leakline.cli.environment import runtime_library
from leakline.patching.plans import plan_folder
from leakline.recording._format import (
    ModuleRecord,
    NodeRecord,
    RawBlockRecord,
    RawTouchRecord,
    SkippedFreeRecord,
    SnapshotBeginRecord,
)
from leakline.recording.create import create_recording
from leakline.recording.reader import open_recording

SITES = 34  # of the paper's experiment with a web application
STALE_SHARE = 0.25  # of a run, that a block was idle for
FRAMES = 6  # that tell allocation stacks apart
FULL = 1_000_000
RATES = {"100 %": FULL, "1 %": 10_000, "0.1 %": 1000, "0.01 %": 100}
DEFAULT = "0.1 %"
JOINED = "with pages"
CLOCK_SLACK_MS = 20  # between the clocks of the two lenses
WANTED_PRECISION = 0.9

Site = tuple[tuple[int, int], ...]
Run = Callable[[dict[str, str], Path], None]


def command(*words: str, stdin: Path | None = None, text_bytes: int = 0) -> Run:
    """Return a run of one command; {text} stands for a file of words."""

    def start(environment: dict[str, str], scratch: Path) -> None:
        text = text_file(scratch, text_bytes) if text_bytes else Path()
        with (stdin or Path(os.devnull)).open("rb") as source:
            subprocess.run(
                [word.format(text=text) for word in words],
                env=environment,
                stdin=source,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                check=False,
            )

    return start


PROGRAMS_RUN: dict[str, Run] = {
    "sqlite": command("sqlite3", stdin=PROGRAMS / "queries.sql"),
    "lua": command("lua5.4", str(PROGRAMS / "trees.lua"), "14"),
    "perl": command("perl", str(PROGRAMS / "words.pl"), "{text}", text_bytes=24 << 20),
    "cppcheck": command(
        "cppcheck",
        "-q",
        *(str(SOURCES / "runtime" / part) for part in ("arm", "heap", "lens", "stack")),
    ),
    "redis": accuracy_redis.serve,
}


@dataclass(slots=True)
class Block:
    """What a run knows of one block at its end, in milliseconds of CPU time.

    Attributes:
        leaked_ms: When its free was left out; None: it was not.
        lower_ms: How long it was idle at least; None without lens pages.
    """

    site: Site
    idle_ms: int
    active_ms: int
    windows: int
    accessed: bool
    leaked_ms: float | None = None
    lower_ms: int | None = None


@dataclass(slots=True)
class Outcome:
    """All blocks of one run."""

    cpu_ms: float = 0.0
    blocks: dict[int, Block] = field(default_factory=dict)

    @property
    def stale_ms(self) -> float:
        """From when on blocks count as stale."""
        return self.cpu_ms * STALE_SHARE


def idle(block: Block, outcome: Outcome) -> bool:
    """Idle for long, measured by the run: as `idle>T`, the default predicate."""
    return block.windows > 0 and block.idle_ms > outcome.stale_ms


def idle_longer(block: Block, outcome: Outcome) -> bool:
    """Idle for twice as long."""
    return block.windows > 0 and block.idle_ms > 2 * outcome.stale_ms


def idle_by_activity(block: Block, outcome: Outcome) -> bool:
    """Idle for ten times as long as it was in use."""
    del outcome
    return block.windows > 0 and block.idle_ms > 10 * max(block.active_ms, 10)


def never(block: Block, outcome: Outcome) -> bool:
    """No use of it was ever seen."""
    del outcome
    return block.windows > 0 and not block.accessed


def idle_by_pages(block: Block, outcome: Outcome) -> bool:
    """Idle for long by the lower bound, which is never wrong."""
    return block.lower_ms is not None and block.lower_ms > outcome.stale_ms


Predicate = Callable[[Block, Outcome], bool]
PREDICATES: dict[str, Predicate] = {
    "idle > 1/4 of the run": idle,
    "idle > 1/2 of the run": idle_longer,
    "idle > 10 x active": idle_by_activity,
    "never": never,
}


@dataclass(slots=True)
class Result:
    """Everything about one program."""

    program: str
    seed: int
    outcomes: dict[str, Outcome]

    def recall(self, mode: str, predicate: Predicate) -> tuple[int, int]:
        """Leaked blocks that were reported, and those leaked long enough ago."""
        outcome = self.outcomes[mode]
        old = [
            block
            for block in outcome.blocks.values()
            if block.leaked_ms is not None
            and outcome.cpu_ms - block.leaked_ms > 1.25 * outcome.stale_ms
        ]
        return sum(predicate(block, outcome) for block in old), len(old)

    def false_positives(self, mode: str, predicate: Predicate) -> tuple[int, int]:
        """Blocks reported that were not leaked, beyond those of full tracing; and all."""
        reported = self._reported(mode, predicate)
        if predicate is idle_by_pages:
            # Full tracing in the same run tells of every block.
            limit_ms = self.outcomes[mode].stale_ms - CLOCK_SLACK_MS
            return sum(block.idle_ms < limit_ms for block in reported), len(reported)
        traced = _not_leaked(self._reported("100 %", predicate))
        return (_not_leaked(reported) - traced).total(), len(reported)

    def _reported(self, mode: str, predicate: Predicate) -> list[Block]:
        outcome = self.outcomes[mode]
        return [one for one in outcome.blocks.values() if predicate(one, outcome)]

    def sites_found(self) -> tuple[int, int]:
        """Of some sites that leaked, drawn at random, those that were reported."""
        outcome = self.outcomes[DEFAULT]
        leaked: dict[Site, bool] = {}
        for block in outcome.blocks.values():
            if (
                block.leaked_ms is not None
                and outcome.cpu_ms - block.leaked_ms > 1.25 * outcome.stale_ms
            ):
                leaked[block.site] = leaked.get(block.site, False) or idle(
                    block, outcome
                )
        random = Random(self.seed)  # noqa: S311 - the same sites in every run
        drawn = random.sample(sorted(leaked), min(SITES, len(leaked)))
        return sum(leaked[site] for site in drawn), len(drawn)

    def is_good(self) -> bool:
        """Whether the goals are met."""
        found, old = self.recall(DEFAULT, idle)
        extra, reported = self.false_positives(DEFAULT, idle)
        joined, _ = self.false_positives(JOINED, idle_by_pages)
        sites, drawn = self.sites_found()
        return (
            found == old
            and extra <= (1 - WANTED_PRECISION) * reported
            and joined == 0
            and sites == drawn
        )


def _not_leaked(blocks: list[Block]) -> Counter[Site]:
    return Counter(block.site for block in blocks if block.leaked_ms is None)


def measure(program: str, seed: int, scratch: Path) -> Result:
    """Run one program in every mode."""
    run = PROGRAMS_RUN[program]
    run_injected(run, "lens=reach,accesses", scratch)
    make_plans(scratch)
    outcomes = {
        mode: run_injected(run, f"{lenses}:skip_free_seed={seed}", scratch)
        for mode, lenses in _modes()
    }
    return Result(program, seed, outcomes)


def _modes() -> Iterator[tuple[str, str]]:
    for mode, rate in RATES.items():
        yield mode, f"lens=reach,accesses:sampling_ppm={rate}"
    yield JOINED, f"lens=reach,pages,accesses:sampling_ppm={FULL}"


def run_injected(run: Run, options: str, scratch: Path) -> Outcome:
    """Run a program whose frees are left out now and then."""
    recording = scratch / "recording"
    recording.unlink(missing_ok=True)
    create_recording(recording)
    more = f"plans={plan_folder()}:skip_free=100:raw_blocks=1:{options}"
    environment = {
        **os.environ,
        "LD_PRELOAD": str(runtime_library(os.environ)),
        "LEAKLINE_OPTIONS": f"recording={recording}:{more}",
        "PERL_HASH_SEED": "0",
    }
    run(environment, scratch)
    return _read(recording)


@dataclass(slots=True)
class _Stacks:
    """Allocation stacks by what is the same in every run."""

    nodes: dict[int, NodeRecord] = field(default_factory=dict)
    bases: dict[int, int] = field(default_factory=dict)
    known: dict[int, Site] = field(default_factory=dict)

    def site(self, node: int) -> Site:
        if node not in self.known:
            self.known[node] = tuple(self._frames(node))
        return self.known[node]

    def _frames(self, node: int) -> Iterator[tuple[int, int]]:
        for _ in range(FRAMES):
            record = self.nodes.get(node)
            if record is None:
                return
            yield record.module, record.pc - self.bases.get(record.module, 0)
            node = record.parent


def _read(recording: Path) -> Outcome:
    outcome, stacks = Outcome(), _Stacks()
    touches: dict[int, RawTouchRecord] = {}
    lower: dict[int, int] = {}
    leaked: dict[int, int] = {}
    with open_recording(recording) as file:
        for _, record in file.records():
            match record:
                case NodeRecord():
                    stacks.nodes[record.id] = record
                case ModuleRecord():
                    stacks.bases[record.id] = record.base
                case SnapshotBeginRecord():
                    outcome.cpu_ms = record.cpu_ns / 1e6
                case RawTouchRecord():
                    touches[record.address] = record
                case RawBlockRecord():
                    lower[record.address] = record.lower_ms
                case SkippedFreeRecord():
                    leaked[record.address] = record.cpu_ms
                case _:
                    pass
    for address, touch in touches.items():
        outcome.blocks[address] = Block(
            stacks.site(touch.stack),
            touch.idle_ms,
            touch.active_ms,
            touch.windows,
            bool(touch.accessed),
            leaked.get(address),
            lower.get(address),
        )
    return outcome
