"""Compiles random programs and runs them under the lens."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .comparison import differences
from .program import printed

LEAKLINE = Path(sys.executable).parent / "leakline"
SOURCE = "program.cpp"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came out of comparing programs with the reports on them.

    Attributes:
        leaks: How many makers of lost blocks were compared, at all levels.
        wrong: The differences.
    """

    leaks: int
    wrong: list[str]


def compared(seeds: list[int], levels: Iterable[str]) -> Outcome:
    """Compare the programs of some seeds, as one file, with the reports on them."""
    file = printed(seeds)
    leaks = 0
    wrong = []
    for level in levels:
        with tempfile.TemporaryDirectory(prefix="leakline-objects-") as folder:
            made, report = report_on(file.text, level, Path(folder))
        leaks += sum(count > 0 for count in made.values())
        found = differences(file.losses, made, SOURCE, report)
        wrong += [f"seeds {seeds}, {level}: {one}" for one in found]
    return Outcome(leaks, wrong)


def report_on(
    text: str, level: str, folder: Path
) -> tuple[dict[str, int], dict[str, Any]]:
    """Compile a C++ file and run it; return what it made, and the report."""
    (folder / SOURCE).write_text(text)
    flags = ("-std=c++17", "-pthread", "-w", level, "-o", "program", SOURCE)
    subprocess.run([LEAKLINE, "c++", *flags], check=True, cwd=folder)
    options = ("--lens", "loss", "--format", "json", "--report-file", "report.json")
    run = subprocess.run(
        [LEAKLINE, "run", *options, "--", "./program"],
        check=False,
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
    )
    lines = [line.split() for line in run.stdout.splitlines()]
    report: dict[str, Any] = json.loads((folder / "report.json").read_text())
    return {maker: int(count) for maker, count in lines}, report
