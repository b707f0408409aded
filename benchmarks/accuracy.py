"""`python -m benchmarks.accuracy`: how well idle memory is found, against oracles.

The oracle of HashTable is the program itself, which knows when it last touched each
block; that of the others is the log of the leaks that were injected. Precision and recall
are those of Hound's paper: per block, and weighted by the drag of allocation sites.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks import (
    accuracy_default,
    accuracy_figures,
    accuracy_injected,
    accuracy_redis,
    accuracy_table,
)


def main() -> int:
    """Measure, print, and fail when a bound is too high or a goal is missed."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.accuracy", description=__doc__
    )
    parser.add_argument("--objects", type=int, default=2_000_000)
    parser.add_argument("--probes", type=int, default=4_000)
    parser.add_argument("--seconds", type=int, default=8)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", choices=list(PARTS))
    parser.add_argument("--programs", default=",".join(accuracy_injected.PROGRAMS_RUN))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="leakline-accuracy-") as scratch:
        missed = sum(
            part(arguments, Path(scratch))
            for name, part in PARTS.items()
            if arguments.only in (None, name)
        )
    return 1 if missed else 0


def _seeds(arguments: argparse.Namespace) -> range:
    return range(1, arguments.seeds + 1)


def _workload(arguments: argparse.Namespace, seed: int) -> accuracy_table.Workload:
    return accuracy_table.Workload(
        arguments.objects, arguments.probes, seed, arguments.seconds
    )


def _table(arguments: argparse.Namespace, scratch: Path) -> int:
    """HashTable under lens pages; returns how many goals were missed."""
    missed = 0
    for seed in _seeds(arguments):
        workload = _workload(arguments, seed)
        result = accuracy_table.measure(workload, scratch)
        print(accuracy_table.render(workload, result), flush=True)
        missed += not result.is_good()
    return missed


def _joined(arguments: argparse.Namespace, scratch: Path) -> int:
    """HashTable under both lenses."""
    workload = _workload(arguments, 1)
    both = accuracy_table.measure_lenses(workload, scratch)
    print(accuracy_table.render_lenses(workload, both), flush=True)
    return int(both["pages,accesses"].precision < 1)


def _injected(arguments: argparse.Namespace, scratch: Path) -> int:
    """Leaks in real programs."""
    runs = []
    for program in arguments.programs.split(","):
        for seed in _seeds(arguments):
            result = accuracy_injected.measure(program, seed, scratch)
            runs.append(accuracy_figures.summarise(result))
            print(accuracy_figures.render(runs[-1]), flush=True)
    print(accuracy_figures.figures(runs), flush=True)
    return sum(not one.is_good for one in runs)


def _default(arguments: argparse.Namespace, scratch: Path) -> int:
    """Leaks in longer runs of real programs, as a user looks for them."""
    missed = 0
    for program in arguments.programs.split(","):
        for seed in _seeds(arguments):
            found = accuracy_default.measure(program, seed, scratch)
            print(accuracy_default.render(program, seed, found), flush=True)
            missed += not found.is_good()
    return missed


def _redis(arguments: argparse.Namespace, scratch: Path) -> int:
    """A server under lens pages."""
    missed = 0
    for seed in _seeds(arguments):
        found = accuracy_redis.measure(scratch, seed)
        print(accuracy_redis.render(found), flush=True)
        missed += not found.is_good()
    return missed


PARTS = {
    "table": _table,
    "joined": _joined,
    "injected": _injected,
    "default": _default,
    "redis": _redis,
}


if __name__ == "__main__":
    sys.exit(main())
