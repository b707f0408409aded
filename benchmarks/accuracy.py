"""`python -m benchmarks.accuracy`: how well idle memory is found, against oracles.

The oracle of HashTable is the program itself, which knows when it last touched each
block; that of the others is the log of the leaks that were injected. Precision and recall
are those of Hound's paper: per block, and weighted by the drag of allocation sites.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks import accuracy_injected, accuracy_redis, accuracy_table


def main() -> int:
    """Measure, print, and fail when a bound is too high or a goal is missed."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.accuracy", description=__doc__
    )
    parser.add_argument("--objects", type=int, default=2_000_000)
    parser.add_argument("--probes", type=int, default=4_000)
    parser.add_argument("--seconds", type=int, default=8)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", choices=["table", "joined", "redis", "injected"])
    parser.add_argument("--programs", default=",".join(accuracy_injected.PROGRAMS_RUN))
    arguments = parser.parse_args()
    missed = 0
    with tempfile.TemporaryDirectory(prefix="leakline-accuracy-") as scratch:
        if arguments.only in (None, "table"):
            for seed in range(1, arguments.seeds + 1):
                workload = accuracy_table.Workload(
                    arguments.objects, arguments.probes, seed, arguments.seconds
                )
                result = accuracy_table.measure(workload, Path(scratch))
                print(accuracy_table.render(workload, result), flush=True)
                missed += not result.is_good()
        if arguments.only in (None, "joined"):
            small = accuracy_table.Workload(200_000, 4_000, 1, arguments.seconds)
            both = accuracy_table.measure_lenses(small, Path(scratch))
            print(accuracy_table.render_lenses(small, both), flush=True)
            missed += both["pages,accesses"].precision < 1
        if arguments.only in (None, "injected"):
            for program in arguments.programs.split(","):
                leaks = accuracy_injected.measure(program, Path(scratch))
                print(accuracy_injected.render(leaks), flush=True)
                missed += not leaks.is_good()
        if arguments.only in (None, "redis"):
            for seed in range(1, arguments.seeds + 1):
                found = accuracy_redis.measure(Path(scratch), seed)
                print(accuracy_redis.render(found), flush=True)
                missed += not found.is_good()
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
