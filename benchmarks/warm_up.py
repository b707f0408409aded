"""`python -m benchmarks.warm_up`: what lens `accesses` costs at the start, and then.

Every program works for a second or so, and five times as long. The difference is work
of a program whose code was sampled before; what the shorter run costs beyond that is the
warm-up, in which all code is armed. A difference doubles the noise of its parts, so it
is that of the least times over all rounds. The median of what single rounds say stands
beside it: where the two lie far apart, more rounds are needed.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable
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
MODES = (PLAIN, LEAKLINE, LEAKLINE_ACCESSES)

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
            *("program", "reach", "accesses", "accesses to reach", "in the median"),
            *("warm-up s", "peak to plain", "peak to reach"),
        ]
    ]
    with tempfile.TemporaryDirectory(prefix="leakline-warm-") as scratch:
        for name in arguments.only.split(","):
            rows.append([name, *measure(WORKS[name], Path(scratch), arguments.rounds)])
            print(" ".join(rows[-1]), flush=True)
    print(markdown(rows))
    return 0


def measure(work: Work, scratch: Path, rounds: int) -> list[str]:
    """Return the cells of one program.

    Modes take turns, and every other round in the opposite order: a machine that gets
    busier favours none of them.
    """
    work(scratch, LEAKLINE_ACCESSES.wrap(scratch), 1)
    make_plans(scratch)
    orders = (MODES, MODES[::-1])
    costs = [
        {mode: _both(work, scratch, mode) for mode in orders[number % 2]}
        for number in range(rounds)
    ]

    def least(mode: Mode, which: int) -> float:
        return min(one[mode][which].cpu_s for one in costs)

    def later(mode: Mode) -> float:
        """CPU time of the work that only the longer run does."""
        return least(mode, 1) - least(mode, 0)

    def in_the_median() -> float:
        """What single rounds say of `accesses` to `reach`."""
        return median(
            _later(one[LEAKLINE_ACCESSES]) / _later(one[LEAKLINE]) for one in costs
        )

    def peak_to(mode: Mode) -> float:
        return median(
            one[LEAKLINE_ACCESSES][1].peak_kib / one[mode][1].peak_kib for one in costs
        )

    share = SHORTER / (LONGER - SHORTER)
    warm_up = least(LEAKLINE_ACCESSES, 0) - share * later(LEAKLINE_ACCESSES)
    return [
        f"{later(LEAKLINE) / later(PLAIN):.3f}",
        f"{later(LEAKLINE_ACCESSES) / later(PLAIN):.3f}",
        f"{later(LEAKLINE_ACCESSES) / later(LEAKLINE):.3f}",
        f"{in_the_median():.3f}",
        f"{warm_up:.2f}",
        f"{peak_to(PLAIN):.2f}",
        f"{peak_to(LEAKLINE):.2f}",
    ]


def _both(work: Work, scratch: Path, mode: Mode) -> tuple[Cost, Cost]:
    shorter = work(scratch, mode.wrap(scratch), SHORTER)
    return shorter, work(scratch, mode.wrap(scratch), LONGER)


def _later(both: tuple[Cost, Cost]) -> float:
    shorter, longer = both
    return longer.cpu_s - shorter.cpu_s


if __name__ == "__main__":
    sys.exit(main())
