"""`python -m benchmarks.warm_up`: what lens `accesses` costs at the start, and then.

Every program works for a second or so, and five times as long. The difference is work
of a program whose code was sampled before; what the shorter run costs beyond that is the
warm-up, in which all code is armed. A difference doubles the noise of its parts, so two
modes that are compared run at the same time, each on a processor of its own, and change
places from round to round: what else the machine does slows both down. The ratio is that
of the least times over all rounds. The median of what single rounds say stands beside
it: where the two lie far apart, more rounds are needed.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.measure import Command, Cost, run
from benchmarks.modes import (
    LEAKLINE,
    LEAKLINE_ACCESSES,
    PLAIN,
    Mode,
    Wrapping,
    make_plans,
)
from benchmarks.table import markdown
from benchmarks.workloads import PROGRAMS, nginx, redis, text_file, wrapped

SHORTER = 2  # amounts of work
LONGER = 10
PAIRS = ((PLAIN, LEAKLINE), (LEAKLINE, LEAKLINE_ACCESSES))

Work = Callable[[Path, Wrapping, int], Cost]


def on_text(*words: str, size_bytes: int) -> Work:
    """Work on a text whose length is the amount."""

    def work(folder: Path, wrapping: Wrapping, amount: int) -> Cost:
        text = text_file(folder, size_bytes * amount)
        command = Command((*words, str(text)), (), folder)
        return run(wrapped(command, wrapping))

    return work


def sqlite(folder: Path, wrapping: Wrapping, amount: int) -> Cost:
    """The same queries again and again, each time in a new database."""
    queries = folder / f"queries-{amount}.sql"
    queries.write_text((PROGRAMS / "queries.sql").read_text() * amount)
    return run(wrapped(Command(("sqlite3",), (), folder, queries), wrapping))


def lua(folder: Path, wrapping: Wrapping, amount: int) -> Cost:
    """The same trees again and again."""
    script = (
        f"arg = {{14}}; for i = 1, {amount} do dofile('{PROGRAMS / 'trees.lua'}') end"
    )
    return run(wrapped(Command(("lua5.4", "-e", script), (), folder), wrapping))


WORKS: dict[str, Work] = {
    "gzip": on_text("gzip", "-c", size_bytes=12 << 20),
    "bzip2": on_text("bzip2", "-c", size_bytes=6 << 20),
    "sqlite": sqlite,
    "lua": lua,
    "perl": on_text("perl", str(PROGRAMS / "words.pl"), size_bytes=6 << 20),
    "redis": lambda folder, wrapping, amount: redis(folder, wrapping, 15_000 * amount),
    "nginx": lambda folder, wrapping, amount: nginx(folder, wrapping, 30_000 * amount),
}


def main() -> int:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.warm_up", description=__doc__
    )
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", default=",".join(WORKS))
    arguments = parser.parse_args()
    rows = [
        [
            *("program", "reach to plain", "accesses to reach", "in the median"),
            *("warm-up s", "peak to plain", "peak to reach"),
        ]
    ]
    with tempfile.TemporaryDirectory(prefix="leakline-warm-") as scratch:
        # A server that gives up its rights has to come to its own folder in here.
        Path(scratch).chmod(0o755)
        for name in arguments.only.split(","):
            rows.append([name, *measure(WORKS[name], Path(scratch), arguments.rounds)])
            print(" ".join(rows[-1]), flush=True)
    print(markdown(rows))
    return 0


@dataclass(frozen=True, slots=True)
class Compared:
    """What two modes cost in each round, the shorter and the longer run.

    Attributes:
        base: Costs in the first mode.
        other: Costs in the second.
    """

    base: list[tuple[Cost, Cost]]
    other: list[tuple[Cost, Cost]]

    def later(self) -> float:
        """What the second mode takes to the first after the start."""
        return _least_later(self.other) / _least_later(self.base)

    def later_in_median(self) -> float:
        """The same, of single rounds."""
        return median(
            _later(other) / _later(base)
            for base, other in zip(self.base, self.other, strict=True)
        )

    def peak(self) -> float:
        """What the second mode has in memory to the first, at most."""
        return median(
            other.peak_kib / base.peak_kib
            for (_, base), (_, other) in zip(self.base, self.other, strict=True)
        )


def measure(work: Work, scratch: Path, rounds: int) -> list[str]:
    """Return the cells of one program."""
    work(scratch, LEAKLINE_ACCESSES.wrap(scratch), 1)
    make_plans(scratch)
    reach, accesses = (compare(work, scratch, pair, rounds) for pair in PAIRS)
    share = SHORTER / (LONGER - SHORTER)
    shorter = min(cost.cpu_s for cost, _ in accesses.other)
    return [
        f"{reach.later():.3f}",
        f"{accesses.later():.3f}",
        f"{accesses.later_in_median():.3f}",
        f"{shorter - share * _least_later(accesses.other):.2f}",
        f"{reach.peak() * accesses.peak():.2f}",
        f"{accesses.peak():.2f}",
    ]


def compare(
    work: Work, scratch: Path, modes: tuple[Mode, Mode], rounds: int
) -> Compared:
    """Run the work in two modes at once, in every other round on each other's core."""
    cores = sorted(os.sched_getaffinity(0))[:2]
    costs = Compared([], [])
    with ThreadPoolExecutor(max_workers=2) as threads:
        for number in range(rounds):
            core = cores[number % len(cores)], cores[(number + 1) % len(cores)]
            running = [
                threads.submit(_both, work, scratch / f"{place}", mode, on)
                for place, (mode, on) in enumerate(zip(modes, core, strict=True))
            ]
            costs.base.append(running[0].result())
            costs.other.append(running[1].result())
    return costs


def _both(work: Work, folder: Path, mode: Mode, core: int) -> tuple[Cost, Cost]:
    """The shorter and the longer run, from a thread that what it starts inherits."""
    folder.mkdir(exist_ok=True)
    os.sched_setaffinity(0, {core})
    shorter = work(folder, mode.wrap(folder), SHORTER)
    return shorter, work(folder, mode.wrap(folder), LONGER)


def _later(both: tuple[Cost, Cost]) -> float:
    """CPU time of the work that only the longer run does."""
    shorter, longer = both
    return longer.cpu_s - shorter.cpu_s


def _least_later(rounds: list[tuple[Cost, Cost]]) -> float:
    shorter = min(cost.cpu_s for cost, _ in rounds)
    return min(cost.cpu_s for _, cost in rounds) - shorter


if __name__ == "__main__":
    sys.exit(main())
