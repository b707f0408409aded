"""`python -m benchmarks.accuracy`: how well idle memory is found, against oracles.

The oracle of HashTable is the program itself, which knows when it last touched each
block; that of redis is the log of the leaks that were injected. Precision and recall
are those of Hound's paper: per block, and weighted by the drag of allocation sites.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks import accuracy_redis, accuracy_table


def main() -> int:
    """Measure, print, and fail when a bound is too high or a goal is missed."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.accuracy", description=__doc__
    )
    parser.add_argument("--objects", type=int, default=2_000_000)
    parser.add_argument("--probes", type=int, default=4_000)
    parser.add_argument("--seconds", type=int, default=8)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", choices=["table", "redis"])
    arguments = parser.parse_args()
    missed = 0
    with tempfile.TemporaryDirectory(prefix="leakline-accuracy-") as scratch:
        if arguments.only != "redis":
            for seed in range(1, arguments.seeds + 1):
                workload = accuracy_table.Workload(
                    arguments.objects, arguments.probes, seed, arguments.seconds
                )
                result = accuracy_table.measure(workload, Path(scratch))
                print(accuracy_table.render(workload, result), flush=True)
                missed += not result.is_good()
        if arguments.only != "table":
            found = accuracy_redis.measure(Path(scratch))
            print(accuracy_redis.render(found), flush=True)
            missed += not found.is_good()
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
