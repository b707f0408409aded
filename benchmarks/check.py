"""`python -m benchmarks.check`: the static checker on programs of growing length.

For each length: CPU time of reading the sources, of the analysis, and of a check after
one function was edited; peak memory; leaks found of those that are there. Beside it the
same sources under other analysers, as far as they are installed.
"""

import argparse
import json
import shutil
import sys
import tempfile
from dataclasses import dataclass
from math import log
from pathlib import Path

from benchmarks.measure import Command, Cost, Measurement, run
from benchmarks.memory import PeakMemory
from benchmarks.sources import Program, write_program

KILO_LINES = (10, 30, 100, 300)

# Name, command for one source, and the words of a leak in its output.
PEERS = (
    ("clang-19 --analyze", "clang-19 --analyze -w {} -o /dev/null", "Potential leak"),
    ("gcc -fanalyzer", "gcc -fanalyzer -c {} -o /dev/null", "malloc-leak"),
    ("cppcheck", "cppcheck --quiet {}", "memleak"),
)


@dataclass(frozen=True, slots=True)
class Row:
    """Costs of checking one program.

    Attributes:
        cold: Nothing is kept from earlier.
        analysis: The facts are there, summaries are not.
        edited: Everything is there, and one function was edited.
        peak_kib: Memory of all processes together, the largest of the three.
        found: Leaks reported.
    """

    program: Program
    cold: Cost
    analysis: Cost
    edited: Cost
    peak_kib: int
    found: int


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.check")
    parser.add_argument("--kilo-lines", default=",".join(map(str, KILO_LINES)))
    parser.add_argument("--no-peers", action="store_true")
    arguments = parser.parse_args()
    sizes = [int(word) for word in arguments.kilo_lines.split(",")]
    with tempfile.TemporaryDirectory(prefix="leakline-bench-") as scratch:
        programs = [write_program(Path(scratch) / f"{n}k", n * 1000) for n in sizes]
        rows = [measure(program) for program in programs]
        print(render(rows))
        if not arguments.no_peers:
            for line in measure_peers(programs[0]):
                print(line)
    return 0


def measure(program: Program) -> Row:
    """Check a program cold, with facts only, and after an edit."""
    cold, first_peak_kib = _run(_check(program))
    found = len(json.loads(_report(program).read_text())["findings"])
    shutil.rmtree(_cache(program) / "leakline" / "summaries")
    analysis, second_peak_kib = _run(_check(program))
    text = program.first_source.read_text()
    program.first_source.write_text(text.replace("int sum = 0", "int sum = 1", 1))
    edited, third_peak_kib = _run(_check(program))
    peak_kib = max(first_peak_kib, second_peak_kib, third_peak_kib)
    return Row(program, cold, analysis, edited, peak_kib, found)


def _run(command: Command) -> tuple[Cost, int]:
    measurement = Measurement(command)
    with PeakMemory(measurement.pid) as memory:
        cost = measurement.finish()
    return cost, memory.peak_kib


def _check(program: Program) -> Command:
    words = (
        *(sys.executable, "-m", "leakline", "check", "--error-exitcode", "0"),
        *("--format", "json", "--report-file", str(_report(program))),
        str(program.folder),
    )
    variables = (("XDG_CACHE_HOME", str(_cache(program))),)
    return Command(words, variables, program.folder)


def _cache(program: Program) -> Path:
    return program.folder / "cache"


def _report(program: Program) -> Path:
    return program.folder / "report.json"


def render(rows: list[Row]) -> str:
    """The table, and the exponent of growth from the first to the last row."""
    title = f"{'lines':>9}{'cold s':>9}{'analysis s':>12}{'edited s':>10}"
    lines = [title + f"{'peak MB':>9}{'found':>8}{'there':>7}"]
    for row in rows:
        peak_mb = row.peak_kib / 1024
        lines.append(
            f"{row.program.lines:>9,}{row.cold.cpu_s:>9.1f}{row.analysis.cpu_s:>12.1f}"
            f"{row.edited.cpu_s:>10.1f}{peak_mb:>9.0f}{row.found:>8}"
            f"{row.program.leaks:>7}"
        )
    if len(rows) > 1:
        first, last = rows[0], rows[-1]
        growth = log(last.analysis.cpu_s / first.analysis.cpu_s)
        exponent = growth / log(last.program.lines / first.program.lines)
        lines.append(f"analysis grows as lines^{exponent:.2f}")
    return "\n".join(lines)


def measure_peers(program: Program) -> list[str]:
    """CPU seconds and leaks found by other analysers on the same sources."""
    lines = []
    for name, command, words in PEERS:
        if shutil.which(command.split()[0]) is None:
            lines.append(f"{name}: not installed")
            continue
        output = program.folder / "peer.txt"
        script = f"for f in *.c; do {command.format('$f')}; done > {output} 2>&1; true"
        cost = run(Command(("sh", "-c", script), (), program.folder))
        found = sum(words in line for line in output.read_text().splitlines())
        lines.append(f"{name}: {cost.cpu_s:.1f} s, {found} lines about leaks")
    return lines


if __name__ == "__main__":
    sys.exit(main())
