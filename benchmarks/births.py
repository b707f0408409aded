"""`python -m benchmarks.births`: what `--births` and `--loss-stacks` add to lens `loss`.

Ratios to the plain program of the same round, CPU time and peak memory.
"""

import argparse
import sys
import tempfile
from pathlib import Path
from statistics import median

from benchmarks.measure import Cost
from benchmarks.modes import PLAIN, Mode, Wrapping, leakline_loss, make_plans
from benchmarks.table import markdown
from benchmarks.workloads import WORKLOADS, Workload

OPTIONS = {
    "loss": "",
    "--births": ":births=1",
    "--loss-stacks": ":loss_stacks=1",
}


def main() -> int:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.births", description=__doc__
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="sqlite,perl,lua")
    arguments = parser.parse_args()
    rows = [["program", *OPTIONS, *(f"{name} memory" for name in OPTIONS)]]
    with tempfile.TemporaryDirectory(prefix="leakline-births-") as scratch:
        for workload in WORKLOADS:
            if workload.name in arguments.only.split(","):
                cells = measure(workload, arguments.rounds, Path(scratch))
                rows.append([workload.name, *cells])
    print(markdown(rows))
    return 0


def measure(workload: Workload, rounds: int, scratch: Path) -> list[str]:
    """Return the ratios of each way to run; the rounds are interleaved."""
    modes = [_mode(name) for name in OPTIONS]
    for mode in modes:
        workload.measure(scratch, mode.wrap(scratch))
        make_plans(scratch)
    costs = [
        {
            mode.name: workload.measure(scratch, mode.wrap(scratch))
            for mode in (PLAIN, *modes)
        }
        for _ in range(rounds)
    ]
    return [
        *(_ratio([_cpu(one, mode) for one in costs]) for mode in modes),
        *(_ratio([_memory(one, mode) for one in costs]) for mode in modes),
    ]


def _mode(name: str) -> Mode:
    def wrap(folder: Path) -> Wrapping:
        preload, (variable, options) = leakline_loss(folder).environment
        wanted = (variable, options + OPTIONS[name])
        return Wrapping(environment=(preload, wanted))

    return Mode(name, wrap)


def _cpu(costs: dict[str, Cost], mode: Mode) -> float:
    return costs[mode.name].cpu_s / costs[PLAIN.name].cpu_s


def _memory(costs: dict[str, Cost], mode: Mode) -> float:
    return costs[mode.name].peak_kib / costs[PLAIN.name].peak_kib


def _ratio(ratios: list[float]) -> str:
    return f"{median(ratios):.2f}"


if __name__ == "__main__":
    sys.exit(main())
