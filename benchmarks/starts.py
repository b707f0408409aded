"""`python -m benchmarks.starts`: what lens `loss` adds to the start of a program.

Small programs start many times, plain and under the lens by turns, with plans that are
there already; fails when the lens takes more CPU time than it may.
"""

import os
import resource
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from statistics import median

from benchmarks.modes import leakline_loss, make_plans

STARTS = 60
LIMIT_MS = 10.0
PROGRAMS = (("/bin/true",), ("/usr/bin/sort", "/dev/null"), ("/bin/ls", "/"))


def start_ms(words: tuple[str, ...], environment: Mapping[str, str]) -> float:
    """Run a program to its end and return its CPU time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    output = (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)
    pid = os.posix_spawn(words[0], words, environment, file_actions=[output])
    _, status = os.waitpid(pid, 0)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if status != 0:
        raise SystemExit(f"{words[0]} ended with {status:#x}")
    user = after.ru_utime - before.ru_utime
    return 1000 * (user + after.ru_stime - before.ru_stime)


def measure(words: tuple[str, ...], folder: Path) -> tuple[float, float]:
    """Return the CPU time of a start, plain and under the lens."""
    plain = dict(os.environ)
    under_lens = {**plain, **dict(leakline_loss(folder).environment)}
    start_ms(words, under_lens)
    make_plans(folder)
    pairs = [
        (start_ms(words, plain), start_ms(words, under_lens)) for _ in range(STARTS)
    ]
    return median(pair[0] for pair in pairs), median(pair[1] for pair in pairs)


def main() -> int:
    """Measure, print the table, and fail when a start takes too long."""
    print("| program | plain ms | with the lens ms | added ms | limit |")
    print("| --- | ---: | ---: | ---: | ---: |")
    is_good = True
    for words in PROGRAMS:
        with tempfile.TemporaryDirectory(prefix="leakline-starts-") as scratch:
            plain, under_lens = measure(words, Path(scratch))
        added = under_lens - plain
        is_good = is_good and added <= LIMIT_MS
        name = Path(words[0]).name
        print(f"| {name} | {plain:.2f} | {under_lens:.2f} | {added:.2f} | {LIMIT_MS} |")
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
