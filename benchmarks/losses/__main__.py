"""`python -m benchmarks.losses`: whether losses are told where they happen.

Random programs, half of them optimised and half of them with births, are compared with
a model of their memory; fails when a single finding is wrong.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.losses.random_program import (
    Program,
    build,
    lost_blocks,
    random_program,
    wrong_findings,
)

LEAKLINE = Path(sys.executable).parent / "leakline"
WAYS = [(level, births) for level in ("-O0", "-O2") for births in ("off", "on")]


def main() -> int:
    """Runs the programs and prints what is wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.losses", description=__doc__
    )
    parser.add_argument("--programs", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="seed of the first one")
    parser.add_argument("--statements", type=int, default=400)
    arguments = parser.parse_args()
    wrong = findings = found = lost = 0
    for seed in range(arguments.first, arguments.first + arguments.programs):
        program = random_program(seed, arguments.statements)
        level, births = WAYS[seed % len(WAYS)]
        report = _report_on(program, level, births)
        wrong += _print_wrong(program, report, f"seed {seed} {level} births {births}")
        findings += sum(one["kind"] == "lost" for one in report["findings"])
        found += lost_blocks(report)
        lost += len(program.losses)
    print(
        f"{arguments.programs} programs: {findings} findings, {wrong} of them wrong; "
        f"{found} of {lost} lost blocks were found"
    )
    return 1 if wrong else 0


def _report_on(program: Program, level: str, births: str) -> dict[str, Any]:
    """Builds a program and runs it under the lens."""
    options = ["--lens", "loss", "--format", "json"]
    options += ["--births"] if births == "on" else []
    with tempfile.TemporaryDirectory(prefix="leakline-losses-") as scratch:
        folder = Path(scratch)
        path = folder / "report.json"
        options += ["--report-file", str(path), "--", *build(program, folder, level)]
        subprocess.run([LEAKLINE, "run", *options], check=False, timeout=300)
        report: dict[str, Any] = json.loads(path.read_text())
    return report


def _print_wrong(program: Program, report: dict[str, Any], title: str) -> int:
    wrong = list(wrong_findings(report, program))
    for one in wrong:
        told = {name: one.told[name] for name in ("loss", "birth")}
        print(f"{title}: block of line {one.block}: {one.expected}", flush=True)
        print(f"   but the report has {json.dumps(told)}", flush=True)
    return len(wrong)


if __name__ == "__main__":
    sys.exit(main())
