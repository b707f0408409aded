"""`python -m benchmarks.formal`: losses of many random programs, by their semantics.

Random programs of Skiff's abstract language are printed as C, compiled by `leakline cc`
at two levels of optimisation, and run: once as users do, and once with births. Fails
when one report names another allocation, loss or birth than the semantics does, and
prints the program.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

from .comparison import differences, other_births, prepared
from .language import Scope
from .programs import programs

LEAKLINE = Path(sys.executable).parent / "leakline"
LEVELS = ("-O0", "-O2")


def main() -> int:
    """Compare, print how many agreed."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.formal", description=__doc__
    )
    parser.add_argument("--programs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--at-once", type=int, default=250, help="programs in one file")
    arguments = parser.parse_args()
    listed = random_programs(arguments.programs, arguments.seed)
    wrong = leaks = 0
    for start in range(0, len(listed), arguments.at_once):
        batch = listed[start : start + arguments.at_once]
        leaks += sum(len(machine.leaks()) for machine in prepared(batch)[1])
        if are_wrong(batch):
            wrong += sum(tell_if_wrong(program) for program in batch)
    print(
        f"{len(listed)} programs with {leaks} leaks at {' and '.join(LEVELS)}: "
        f"{wrong} programs told otherwise than by the semantics"
    )
    return 1 if wrong else 0


def random_programs(count: int, number: int) -> list[Scope]:
    """Draw programs, always the same for one number; few are drawn twice."""
    listed: list[Scope] = []

    @seed(number)
    @settings(
        max_examples=count,
        database=None,
        derandomize=False,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(programs())
    def draw(program: Scope) -> None:
        listed.append(program)

    draw()
    return listed


def tell_if_wrong(program: Scope) -> bool:
    """Print a program that is told wrong, with the differences."""
    found = are_wrong([program])
    if found:
        print(prepared([program])[0], *found, sep="\n")
    return bool(found)


def are_wrong(listed: list[Scope]) -> list[str]:
    """The differences in the reports on these programs."""
    text, machines = prepared(listed)
    found = []
    for level in LEVELS:
        found += [
            f"{level}: {one}" for one in differences(machines, report_on(text, level))
        ]
        report = report_on(text, level, "--births")
        both = differences(machines, report) + other_births(machines, report)
        found += [f"{level}, with births: {one}" for one in both]
    return found


def report_on(text: str, level: str, *births: str) -> dict[str, Any]:
    """Compile a C file and run it, maybe with births."""
    with tempfile.TemporaryDirectory(prefix="leakline-formal-") as folder:
        source = Path(folder, "program.c")
        source.write_text(text)
        program, report = Path(folder, "program"), Path(folder, "report.json")
        flags = (*births, "-w", level, "-o", str(program))
        subprocess.run([LEAKLINE, "cc", *flags, source], check=True)
        options = (*births, "--format", "json", "--report-file", str(report))
        subprocess.run([LEAKLINE, "run", *options, "--", program], check=False)
        loaded: dict[str, Any] = json.loads(report.read_text())
        return loaded


if __name__ == "__main__":
    sys.exit(main())
