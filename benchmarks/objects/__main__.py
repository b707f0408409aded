"""`python -m benchmarks.objects`: losses of random programs full of objects.

Random C++ programs lose blocks at known lines, for known reasons, while strings,
containers, exceptions and temporaries come and go around it. `leakline c++` compiles
each at `-O0`, at `-O2`, and by turns at `-O1` or `-O3`. Fails when a report names
another line or cause, leaves out callers, has a block that was not lost or lacks one
that was, and prints the program.
"""

import argparse
import sys

from .program import printed
from .runs import Outcome, compared


def main() -> int:
    """Compare, print how many agreed."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.objects", description=__doc__
    )
    parser.add_argument("--programs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    parser.add_argument("--at-once", type=int, default=8, help="programs in one file")
    arguments = parser.parse_args()
    seeds = list(range(arguments.seed, arguments.seed + arguments.programs))
    wrong = leaks = 0
    for number, start in enumerate(range(0, len(seeds), arguments.at_once)):
        batch = seeds[start : start + arguments.at_once]
        levels = ("-O0", "-O2", "-O3" if number % 2 else "-O1")
        outcome = compared(batch, levels)
        leaks += outcome.leaks
        if outcome.wrong:
            wrong += tell_wrong(batch, levels, outcome)
    print(
        f"{len(seeds)} programs, {leaks} leaks checked at -O0, -O2, and -O1 or -O3: "
        f"{wrong} programs told otherwise than they lose"
    )
    return 1 if wrong else 0


def tell_wrong(batch: list[int], levels: tuple[str, ...], together: Outcome) -> int:
    """Print the programs of a batch that are told wrong by themselves; count them.

    If that is none, it takes all of them together: the batch counts as one.
    """
    outcomes = [([seed], compared([seed], levels)) for seed in batch]
    alone = [(seeds, outcome) for seeds, outcome in outcomes if outcome.wrong]
    for seeds, outcome in alone or [(batch, together)]:
        print(printed(seeds).text, *outcome.wrong, sep="\n", flush=True)
    return max(len(alone), 1)


if __name__ == "__main__":
    sys.exit(main())
