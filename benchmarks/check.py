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
from dataclasses import asdict, dataclass
from math import log
from pathlib import Path

from benchmarks.measure import Command, Cost, Measurement, run
from benchmarks.memory import PeakMemory
from benchmarks.sources import Program, write_program

ROOT = Path(__file__).parents[1]
KILO_LINES = (10, 30, 100, 300)
# Other analysers take a CPU second for some hundred lines.
PEER_KILO_LINES = (10, 100)

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


@dataclass(frozen=True, slots=True)
class Heard:
    """Another analyser on one program: its cost, and lines of output about leaks."""

    lines: int
    peer: str
    cpu_s: float
    found: int


def main() -> int:
    """Measure, print and keep the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.check")
    parser.add_argument("--kilo-lines", default=_words(KILO_LINES))
    parser.add_argument("--peer-kilo-lines", default=_words(PEER_KILO_LINES))
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--output", type=Path, default=ROOT / "build/check.json")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="leakline-bench-") as scratch:
        programs = _programs(arguments.kilo_lines, Path(scratch))
        rows = [measure(program) for program in programs]
        print(render(rows))
        for_peers = "" if arguments.no_peers else arguments.peer_kilo_lines
        heard = [
            found
            for program in _programs(for_peers, Path(scratch) / "peers")
            for found in measure_peers(program)
        ]
    for found in heard:
        words = f"{found.cpu_s:.1f} s, {found.found} lines about leaks"
        print(f"{found.peer}, {found.lines:,} lines: {words}")
    _keep(arguments.output, rows, heard)
    return 0


def _words(numbers: tuple[int, ...]) -> str:
    return ",".join(map(str, numbers))


def _programs(kilo_lines: str, folder: Path) -> list[Program]:
    sizes = [int(word) for word in kilo_lines.split(",") if word]
    return [write_program(folder / f"{size}k", size * 1000) for size in sizes]


def _keep(output: Path, rows: list[Row], heard: list[Heard]) -> None:
    checked = [
        {
            "lines": row.program.lines,
            "cold_s": round(row.cold.cpu_s, 2),
            "analysis_s": round(row.analysis.cpu_s, 2),
            "edited_s": round(row.edited.cpu_s, 2),
            "peak_kib": row.peak_kib,
            "found": row.found,
            "there": row.program.leaks,
        }
        for row in rows
    ]
    known = {"leakline": checked, "peers": [asdict(found) for found in heard]}
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(known, indent=1) + "\n")


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


def measure_peers(program: Program) -> list[Heard]:
    """CPU seconds and leaks found by other analysers, as far as they are installed."""
    heard = []
    for name, command, words in PEERS:
        if shutil.which(command.split()[0]) is None:
            print(f"{name}: not installed")
            continue
        output = program.folder / "peer.txt"
        script = f"for f in *.c; do {command.format('$f')}; done > {output} 2>&1; true"
        cost = run(Command(("sh", "-c", script), (), program.folder))
        found = sum(words in line for line in output.read_text().splitlines())
        heard.append(Heard(program.lines, name, round(cost.cpu_s, 1), found))
    return heard


if __name__ == "__main__":
    sys.exit(main())
