"""`python -m benchmarks.losses`: whether losses are told where they happen.

Random programs, half of them optimised and half of them with births, are compared with
a model of their memory; fails when a single finding is wrong. Then programs of Debian,
built from source, lose blocks because some of their frees are left out.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.losses import injected
from benchmarks.losses.random_program import (
    Program,
    Wrong,
    build,
    lost_blocks,
    random_program,
    wrong_findings,
)

LEAKLINE = Path(sys.executable).parent / "leakline"
WAYS = [(level, births) for level in ("-O0", "-O2") for births in ("off", "on")]


def main() -> int:
    """Compares, prints, and fails when a random program is told wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.losses", description=__doc__
    )
    parser.add_argument("--programs", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="seed of the first one")
    parser.add_argument("--statements", type=int, default=400)
    parser.add_argument("--refine", action="store_true", help="random programs, too")
    parser.add_argument("--only", choices=["random", "injected"])
    parser.add_argument("--folder", type=Path, help="keeps what is built there")
    names = [run.package.name for run in injected.RUNS]
    parser.add_argument("--program", choices=names, help="only this injected one")
    arguments = parser.parse_args()
    wrong = 0
    if arguments.only in (None, "random"):
        wrong = _random(arguments)
    if arguments.only in (None, "injected"):
        with tempfile.TemporaryDirectory(prefix="leakline-losses-") as scratch:
            runs = [
                run
                for run in injected.RUNS
                if arguments.program in (None, run.package.name)
            ]
            _injected(runs, arguments.folder or Path(scratch))
    return 1 if wrong else 0


def _random(arguments: argparse.Namespace) -> int:
    """The number of findings about random programs that are wrong."""
    wrong = findings = found = lost = 0
    for seed in range(arguments.first, arguments.first + arguments.programs):
        program = random_program(seed, arguments.statements)
        level, births = WAYS[seed % len(WAYS)]
        options = ["--births"] if births == "on" else []
        options += ["--refine"] if arguments.refine else []
        report = _report_on(program, level, options)
        title = f"seed {seed} {level} births {births}"
        told = list(wrong_findings(report, program, refined=arguments.refine))
        _print_wrong(told, title)
        wrong += len(told)
        findings += sum(one["kind"] == "lost" for one in report["findings"])
        found += lost_blocks(report)
        lost += len(program.losses)
    print(
        f"{arguments.programs} programs: {findings} findings, {wrong} of them wrong; "
        f"{found} of {lost} lost blocks were found"
    )
    return wrong


def _injected(runs: list[injected.Run], folder: Path) -> None:
    """Measures some programs, keeps the counts, and prints all that are kept."""
    for option in injected.OPTIONS:
        for run in runs:
            injected.keep(run, option, injected.measure(run, option, folder))
        print(f"{option}: the function that lost the block is, beside the one that")
        print("should have freed it,")
        print(injected.render(injected.kept(option)), flush=True)


def _report_on(program: Program, level: str, more: list[str]) -> dict[str, Any]:
    """Builds a program and runs it under the lens."""
    options = ["--lens", "loss", "--format", "json", *more]
    with tempfile.TemporaryDirectory(prefix="leakline-losses-") as scratch:
        folder = Path(scratch)
        path = folder / "report.json"
        options += ["--report-file", str(path), "--", *build(program, folder, level)]
        subprocess.run([LEAKLINE, "run", *options], check=False, timeout=300)
        report: dict[str, Any] = json.loads(path.read_text())
    return report


def _print_wrong(wrong: list[Wrong], title: str) -> None:
    for one in wrong:
        told = {name: one.told[name] for name in ("loss", "birth")}
        print(f"{title}: block of line {one.block}: {one.expected}", flush=True)
        print(f"   but the report has {json.dumps(told)}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
