"""`python -m benchmarks.compiled`: what `leakline cc` costs, beside the sanitizers.

Programs are built from Debian's sources by the same compiler at -O2 in each way, and
run on the same input; figures are ratios to the plain build: CPU time and peak memory of
the run with lens `loss`, libraries patched, and CPU time of the build, with `configure`
where the program has one, since whoever builds it waits for that, too. Builds are
compared twice: all have debug information, or it is left to the compiler, which makes
none unless it is `leakline cc`.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from math import exp, log
from pathlib import Path
from statistics import median

from benchmarks import table
from benchmarks.debian_sources import (
    PROGRAMS,
    SOURCES,
    Build,
    Source,
    script_environment,
)
from benchmarks.measure import Command, Cost, FailedError, run
from benchmarks.modes import Wrapping, leakline_loss, make_plans, memcheck, plain
from benchmarks.workloads import text_file, wrapped
from leakline.compile.compiler import find_compiler

ROOT = Path(__file__).parent.parent
LEAKLINE_CC = Path(sys.executable).parent / "leakline-cc"
LEAKLINE_CXX = LEAKLINE_CC.with_name("leakline-c++")
# Of the peers, and of the compiler for its sanitizers.
TOOLS = ("valgrind", "dpkg-dev", "libclang-rt-19-dev")
NO_LEAK_CHECK = (("ASAN_OPTIONS", "exitcode=0"), ("LSAN_OPTIONS", "exitcode=0"))


@dataclass(frozen=True, slots=True)
class Way:
    """A column of the table: how programs are built and run.

    Attributes:
        slow: Run once only, since it takes many times as long.
    """

    name: str
    build: str
    wrap: Callable[[Path], Wrapping]
    slow: bool = False


def sanitized(_folder: Path) -> Wrapping:
    """A sanitizer does its work by itself; that it finds leaks is no failure."""
    return Wrapping(environment=NO_LEAK_CHECK)


WAYS = (
    Way("plain", "plain", plain),
    Way("leakline cc", "leakline", leakline_loss),
    Way("ASan", "asan", sanitized),
    Way("LSan", "lsan", sanitized),
    Way("memcheck", "plain", memcheck, slow=True),
)

# Arguments of each program, its standard input, and the most CPU time it may take.
RUNS = {
    "gzip": (("-c", "{text}"), "", 1.1),
    "bzip2": (("-c", "{text}"), "", 1.1),
    "sqlite": ((), "queries.sql", 1.8),
    "mawk": (("-f", "{programs}/words.awk", "{text}"), "", 1.8),
    "binary-trees": (("16",), "", 1.8),
    "lua": (("{programs}/trees.lua",), "", 2.2),
}
TEXT_BYTES = 12 << 20
MEAN_LIMIT = 1.5
# Builds that are compared, so each is made this often. The second two are not run.
COMPARED_BUILDS = ("plain", "leakline")
BUILDS_WITHOUT_G = ("plain-without-g", "leakline-without-g")
BUILD_ROUNDS = 3

# For each way, what each round cost; the build is under the name of the build.
Results = dict[str, list[Cost]]


def main() -> int:
    """Build, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compiled")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="programs, separated by commas")
    parser.add_argument("--no-peers", action="store_true", help="leakline cc only")
    arguments = parser.parse_args()
    chosen = [s for s in SOURCES if not arguments.only or s.name in arguments.only]
    ways = WAYS[:2] if arguments.no_peers else WAYS
    install(chosen)
    results: dict[str, tuple[Results, Results]] = {}
    with tempfile.TemporaryDirectory(prefix="leakline-bench-") as scratch:
        folder = Path(scratch)
        for source in chosen:
            source.prepare(folder / source.name)
            names = [way.build for way in ways]
            builds = built(source, [*names, *BUILDS_WITHOUT_G], folder)
            runs = measured(source, ways, arguments.rounds, folder)
            results[source.name] = (builds, runs)
    print(render(results, [way.name for way in ways[1:]]))
    return 0


def install(sources: list[Source]) -> None:
    """Install what builds and peers need."""
    packages = {package for source in sources for package in source.packages}
    script = ROOT / "tools/install_packages.sh"
    subprocess.run([script, *TOOLS, *sorted(packages)], check=True)


def build_of(name: str) -> Build:
    """A build by its name; all have the same optimisation."""
    compiler = find_compiler("clang").path
    # Valgrind of Debian 12 does not read the compiler's DWARF 5.
    debug = () if name in BUILDS_WITHOUT_G else ("-gdwarf-4",)
    flags = ("-O2", "-w", *debug)
    match name:
        case "leakline" | "leakline-without-g":
            return Build(name, str(LEAKLINE_CC), flags)
        case "asan":
            return Build(name, compiler, (*flags, "-fsanitize=address"))
        case "lsan":
            return Build(name, compiler, (*flags, "-fsanitize=leak"))
        case _:
            return Build(name, compiler, flags)


def built(source: Source, names: list[str], folder: Path) -> Results:
    """Build a program in each way, round by round; return what that cost."""
    costs: Results = {name: [] for name in names}
    for number in range(BUILD_ROUNDS):
        for name in costs:
            if number == 0 or name in COMPARED_BUILDS + BUILDS_WITHOUT_G:
                costs[name].append(build_once(source, name, folder))
    return costs


def build_once(source: Source, name: str, folder: Path) -> Cost:
    """Build a program anew in one way."""
    target = folder / f"{source.name}-{name}"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    environment = script_environment(source, build_of(name), folder)
    return run(Command(("sh", "-c", source.script), environment, target))


def measured(
    source: Source, ways: tuple[Way, ...], rounds: int, folder: Path
) -> Results:
    """Run a program in all ways, round by round."""
    costs: Results = {way.name: [] for way in ways}
    run_once(source, ways[1], folder)
    make_plans(folder)
    for number in range(rounds):
        for way in ways:
            if way.slow and number > 0:
                continue
            try:
                costs[way.name].append(run_once(source, way, folder))
            except FailedError as error:
                print(f"{source.name}, {way.name}: {error}")
    return costs


def run_once(source: Source, way: Way, folder: Path) -> Cost:
    """Run a program in one way."""
    arguments, stdin, _ = RUNS[source.name]
    text = text_file(folder, TEXT_BYTES)
    words = [word.format(text=text, programs=PROGRAMS) for word in arguments]
    program = folder / f"{source.name}-{way.build}" / source.program
    command = Command(
        (str(program), *words), (), folder, PROGRAMS / stdin if stdin else None
    )
    return run(wrapped(command, way.wrap(folder)))


def render(results: dict[str, tuple[Results, Results]], ways: list[str]) -> str:
    """Return the table; its last row has the geometric means."""
    head = ["program", "plain s", "limit", *ways, "memory", "compile", "without -g"]
    rows, all_ratios = [head], dict[str, list[float]]()
    for name, (builds, runs) in results.items():
        cpu = {way: ratio(runs["plain"], runs[way], cpu_of) for way in ways}
        ratios = {
            **cpu,
            "memory": ratio(runs["plain"], runs["leakline cc"], peak_of),
            "compile": ratio_of_least(*(builds[name] for name in COMPARED_BUILDS)),
            "without -g": ratio_of_least(*(builds[name] for name in BUILDS_WITHOUT_G)),
        }
        for column, value in ratios.items():
            all_ratios.setdefault(column, []).extend([value] if value else [])
        seconds = median(cost.cpu_s for cost in runs["plain"])
        row = [name, f"{seconds:.2f}", f"<= {RUNS[name][2]}"]
        rows.append(row + [shown(value) for value in ratios.values()])
    means = [shown(mean(all_ratios[column])) for column in head[3:]]
    rows.append(["geometric mean", "", f"<= {MEAN_LIMIT}", *means])
    return table.markdown(rows)


def ratio(base: list[Cost], other: list[Cost], value: Callable[[Cost], float]) -> float:
    """The median over the rounds; 0 when nothing was measured."""
    ratios = [value(b) / value(a) for a, b in zip(base, other, strict=False)]
    return median(ratios) if ratios else 0


def ratio_of_least(base: list[Cost], other: list[Cost]) -> float:
    """Of CPU time: a build does the same each time, and others only make it slower."""
    return min(map(cpu_of, other)) / min(map(cpu_of, base))


def cpu_of(cost: Cost) -> float:
    """CPU seconds."""
    return cost.cpu_s


def peak_of(cost: Cost) -> float:
    """Peak memory."""
    return float(cost.peak_kib)


def mean(values: list[float]) -> float:
    """The geometric mean."""
    return exp(sum(map(log, values)) / len(values)) if values else 0


def shown(value: float) -> str:
    """A ratio for the table."""
    return f"{value:.2f}" if value else "failed"


if __name__ == "__main__":
    sys.exit(main())
