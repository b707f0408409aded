"""`python -m benchmarks`: measures, prints the table, keeps the raw numbers.

Rounds are interleaved: each round runs every mode once, and a ratio compares runs of
the same round, so that a busy neighbour slows both sides. Every second round goes
through the modes backwards, so that none is always the one after a costly other.
A short program feels the neighbours of one second, so it gets more rounds.
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks import debug_info, limits, scale, stacks, table
from benchmarks.measure import Cost, FailedError
from benchmarks.modes import (
    LEAKLINE_ACCESSES,
    LEAKLINE_LOSS,
    OWN_MODES,
    PLAIN,
    Mode,
    available_peers,
    make_plans,
)
from benchmarks.workloads import WORKLOADS, Workload

ROOT = Path(__file__).parent.parent
PEER_PACKAGES = ("valgrind", "heaptrack", "liblsan0")
# For so long a program runs plainly over all rounds, or for three times those asked for.
LEAST_PLAIN_S = 10.0
MOST_TIMES = 3


def main() -> int:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="workloads, separated by commas")
    parser.add_argument(
        "--no-peers", action="store_true", help="Leakline and plain only"
    )
    parser.add_argument(
        "--no-scale", action="store_true", help="skip the growth series"
    )
    parser.add_argument("--output", type=Path, default=ROOT / "build/benchmarks.json")
    arguments = parser.parse_args()
    chosen = [
        workload
        for workload in WORKLOADS
        if not arguments.only or workload.name in arguments.only.split(",")
    ]
    install(chosen, peers=not arguments.no_peers)
    peers = () if arguments.no_peers else available_peers()
    results: table.Results = {}
    with tempfile.TemporaryDirectory(prefix="leakline-bench-") as scratch:
        for workload in chosen:
            results[workload.name] = measure(
                workload,
                (PLAIN, *OWN_MODES, *peers),
                arguments.rounds,
                Path(scratch),
            )
        series = [] if arguments.no_scale else scale.measure(Path(scratch))
        by_stacks = [] if arguments.no_scale else stacks.measure(Path(scratch))
        by_debug = [] if arguments.no_scale else debug_info.measure(Path(scratch))
    print(table.render(results, chosen, [mode.name for mode in (*OWN_MODES, *peers)]))
    print()
    print(limits.render(results, chosen))
    print()
    print(scale.render(series))
    print()
    print(stacks.render(by_stacks))
    print()
    print(debug_info.render(by_debug))
    raw = {
        name: {
            mode: [(cost.cpu_s, cost.peak_kib) for cost in costs]
            for mode, costs in modes.items()
        }
        for name, modes in results.items()
    }
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(
        json.dumps(
            {
                "workloads": raw,
                "scale": [growth.as_dict() for growth in series],
                "stacks": [growth.as_dict() for growth in by_stacks],
                "debug_info": [growth.as_dict() for growth in by_debug],
            },
            indent=1,
        )
    )
    return 0


def install(workloads: list[Workload], *, peers: bool) -> None:
    """Install the Debian packages that are missing."""
    packages = {package for workload in workloads for package in workload.packages}
    if peers:
        packages.update(PEER_PACKAGES)
    script = ROOT / "tools/install_packages.sh"
    subprocess.run([script, *sorted(packages)], check=True)


def measure(
    workload: Workload, modes: tuple[Mode, ...], rounds: int, scratch: Path
) -> dict[str, list[Cost]]:
    """Return the costs of each mode, one per round."""
    costs: dict[str, list[Cost]] = {mode.name: [] for mode in modes}
    for mode in (LEAKLINE_LOSS, LEAKLINE_ACCESSES):
        workload.measure(scratch, mode.wrap(scratch))  # warms the page cache
        make_plans(scratch)
    number = 0
    while number < rounds_of(costs[PLAIN.name], rounds):
        for mode in modes if number % 2 == 0 else reversed(modes):
            if mode.slow and number > 0:
                continue
            progress(f"{workload.name}: round {number + 1}, {mode.name}")
            try:
                costs[mode.name].append(workload.measure(scratch, mode.wrap(scratch)))
            except (FailedError, subprocess.SubprocessError, TimeoutError) as error:
                progress("")
                print(f"{workload.name} under {mode.name} failed: {error}")
        number += 1
    progress("")
    return costs


def rounds_of(plain: list[Cost], rounds: int) -> int:
    """Return how many rounds a program gets, by its plain runs so far."""
    if not plain:
        return rounds
    mean_s = sum(cost.cpu_s for cost in plain) / len(plain)
    wanted = math.ceil(LEAST_PLAIN_S / mean_s)
    return min(max(rounds, wanted), rounds * MOST_TIMES)


def progress(text: str) -> None:
    """Show on a terminal what is being measured."""
    if sys.stdout.isatty():
        print(f"\r\033[K{text}", end="", flush=True)


if __name__ == "__main__":
    sys.exit(main())
