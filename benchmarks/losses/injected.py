"""Injected leaks: is a loss told where real programs should have freed the block?

Programs of Debian are built from source with debug information, and run with three in
ten of their frees left out. The recording tells the call stack of each free that did
not happen, which is where the block should have gone; the report does not look at it.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.real.packages import PACKAGES, Package, prepare
from benchmarks.workloads import PROGRAMS, text_file
from leakline.dynamic.process_log import ProcessLog
from leakline.dynamic.stack_table import ProcessStacks, StackTable
from leakline.dynamic.stacks import StackBuilder
from leakline.model.stack import Stack
from leakline.recording._format import ModuleRecord, NodeRecord, SkippedFreeRecord
from leakline.recording.reader import open_recording
from leakline.symbols.resolve import Module, resolve

LEAKLINE = Path(sys.executable).parent / "leakline"
MAWK = Package("mawk", "mawk=1.3.4.20200120-3.1")
RESULTS = Path(__file__).parents[1] / "results" / "injected.json"
OPTIONS = ("--lens loss", "--refine")
OWN_PROGRAMS = Path(__file__).parent / "programs"
# Where the report has the loss, seen from the function that should have freed.
COLUMNS = ("that function", "its next two callers", "further out", "another", "none")
NEAR = 2
TEXT_BYTES = 1 << 16
SEEDS = (1, 2, 3)
FREES_LEFT_OUT = 300  # of a thousand


@dataclass(frozen=True, slots=True)
class Run:
    """A program with some work to do; its second run does the same."""

    package: Package
    program: str
    arguments: tuple[str, ...]


def _package(name: str) -> Package:
    return next(one for one in PACKAGES if one.name == name)


RUNS = (
    Run(_package("which"), "which", ("-a", "ls", "sh", "gcc", "nothing")),
    Run(
        _package("patch"),
        "src/patch",
        ("--dry-run", "{folder}/text", "{folder}/text.diff"),
    ),
    Run(_package("make"), "make", ("-f", str(OWN_PROGRAMS / "words.mk"))),
    Run(MAWK, "mawk", ("-f", str(PROGRAMS / "words.awk"), "{folder}/text")),
)


class Frees(NamedTuple):
    """Functions that should have freed, innermost first, by the allocation's lines."""

    by_allocation: dict[tuple[tuple[str, int], ...], list[list[str]]]
    program: str


def measure(run: Run, option: str, folder: Path) -> Counter[str]:
    """Counts the findings of a program by where they have the loss."""
    place = prepare(run.package, folder)
    program = place / run.program
    if not program.exists():
        script = ["sh", "-c", f"({run.package.build}) > leakline-build.log 2>&1"]
        subprocess.run(script, cwd=place, check=True)
    _make_input(folder)
    arguments = [one.format(folder=folder) for one in run.arguments]
    found: Counter[str] = Counter()
    for seed in SEEDS:
        report = _report([str(program), *arguments], option, seed, folder)
        frees = _frees(folder / "recording", str(program))
        found.update(_columns(report, frees))
    return found


def keep(run: Run, option: str, counts: Counter[str]) -> None:
    """Writes down what was counted, in place of an earlier count."""
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    results.setdefault(option, {})[run.package.name] = {
        "findings": counts.total(),
        **{column: counts[column] for column in COLUMNS},
    }
    RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")


def kept(option: str) -> dict[str, Counter[str]]:
    """The counts of each program, and of all together."""
    results = json.loads(RESULTS.read_text())[option]
    counts = {
        name: Counter({column: row[column] for column in COLUMNS})
        for name, row in results.items()
    }
    return counts | {"together": sum(counts.values(), Counter())}


def render(results: dict[str, Counter[str]]) -> str:
    """One line for each way to run."""
    lines = [f"{'':14} {'findings':>9}" + "".join(f"{one:>22}" for one in COLUMNS)]
    for name, counts in results.items():
        cells = "".join(f"{counts[one]:>22}" for one in COLUMNS)
        lines.append(f"{name:14} {counts.total():>9}{cells}")
    return "\n".join(lines)


def _make_input(folder: Path) -> None:
    text = text_file(folder, TEXT_BYTES).read_text().splitlines(keepends=True)
    (folder / "text").write_text("".join(text))
    changed = [line for number, line in enumerate(text) if number % 40]
    (folder / "changed").write_text("".join(changed))
    difference = subprocess.run(
        ["diff", "-u", "text", "changed"], cwd=folder, check=False, capture_output=True
    )
    (folder / "text.diff").write_bytes(difference.stdout)


def _report(command: list[str], option: str, seed: int, folder: Path) -> dict[str, Any]:
    for name in ("recording", "report"):
        (folder / name).unlink(missing_ok=True)
    options = f"skip_free={FREES_LEFT_OUT}:skip_free_seed={seed}"
    out = ["-o", str(folder / "recording"), "--report-file", str(folder / "report")]
    subprocess.run(
        [LEAKLINE, "run", *option.split(), *out, "--format", "json", "--", *command],
        env={**os.environ, "LEAKLINE_OPTIONS": options},
        cwd=folder,
        check=False,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    report: dict[str, Any] = json.loads((folder / "report").read_text())
    return report


def _frees(recording: Path, program: str) -> Frees:
    """What was not freed, of the program itself in its first run."""
    log: ProcessLog | None = None
    skipped: list[SkippedFreeRecord] = []
    with open_recording(recording) as opened:
        for writer, record in opened.records():
            log = log or ProcessLog(writer.process)
            if writer.process != log.key:
                continue
            match record:
                case NodeRecord():
                    log.nodes[record.id] = record
                case ModuleRecord():
                    log.modules[record.id] = record
                case SkippedFreeRecord():
                    skipped.append(record)
                case _:
                    pass
    named = _stacks(log, skipped) if log is not None else {}
    found = Frees({}, program)
    for record in skipped:
        chain = [
            frame.function
            for frame in named[record.freed].frames
            if frame.module == program
        ]
        key = tuple((one.function, one.line) for one in named[record.stack].frames)
        found.by_allocation.setdefault(key, []).append(chain)
    return found


def _stacks(log: ProcessLog, skipped: list[SkippedFreeRecord]) -> dict[int, Stack]:
    """The call stacks of allocations and frees, by their nodes."""
    table = StackTable()
    process = ProcessStacks(log, table)
    nodes = {node for one in skipped for node in (one.stack, one.freed)}
    numbers = {node: process.number(node) for node in sorted(nodes)}
    requests: dict[Module, list[int]] = {}
    used = sorted(table.used_addresses(numbers.values()))
    for address in used:
        module, offset = table.addresses[address]
        requests.setdefault(module, []).append(offset)
    resolved = resolve(requests)
    frames = {one: resolved.frames[table.addresses[one]] for one in used}
    builder = StackBuilder(table, frames)
    return {node: builder.stack(number) for node, number in numbers.items()}


def _columns(report: dict[str, Any], frees: Frees) -> Iterator[str]:
    """The column of each finding that an injected leak explains."""
    for finding in report["findings"]:
        frames = finding["allocation"]["frames"]
        chains = frees.by_allocation.get(
            tuple((one["function"], one["line"]) for one in frames)
        )
        if finding["kind"] == "lost" and chains:
            column = min(_column(finding, chain, frees) for chain in chains)
            yield COLUMNS[column]


def _column(finding: dict[str, Any], chain: list[str], frees: Frees) -> int:
    loss = finding["loss"]
    frames = loss["frames"] if loss else ()
    own = [one["function"] for one in frames if one["module"] == frees.program]
    if not own:
        return COLUMNS.index("none")
    if own[0] not in chain:
        return COLUMNS.index("another")
    distance = chain.index(own[0])
    return 0 if distance == 0 else 1 if distance <= NEAR else 2
