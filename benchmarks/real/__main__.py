"""`python -m benchmarks.real`: checks Debian packages and compares with what was read.

Fetches and builds each package once, checks it, and says of each finding whether it
was read before and found real or false (`verdicts.toml`). Beside it clang's and gcc's
analysers and cppcheck on the same sources.
"""

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.real import peers
from benchmarks.real.packages import PACKAGES, ROOT, Package, build, prepare
from benchmarks.real.spent import Spent
from benchmarks.real.verdicts import inside, place_of, read_verdicts, verdict_of
from benchmarks.table import markdown
from leakline.model.finding import Finding
from leakline.static.analysis import Analysis, AnalysisOptions, analyse
from leakline.static.capture.command import Build
from leakline.static.capture.facts_cache import FactsCache
from leakline.static.capture.gather import Gathered, Gatherer
from leakline.static.capture.toolchain import find_toolchain
from leakline.static.models.library import load_models
from leakline.static.program import Program

JOBS = 2


@dataclass(frozen=True, slots=True)
class Result:
    """One package checked.

    Attributes:
        verdicts: Place of each finding and its verdict.
        reading_s: CPU seconds of reading the sources.
        analysis_s: CPU seconds of the analysis, nothing kept from earlier.
    """

    package: Package
    lines: int
    functions: int
    incomplete: int
    verdicts: tuple[tuple[str, str], ...]
    reading_s: float
    analysis_s: float
    heard: dict[str, peers.Heard]

    def count(self, verdict: str) -> int:
        """How many findings have the verdict."""
        return sum(found == verdict for _, found in self.verdicts)


def main() -> int:
    """Check what was asked for and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.real")
    parser.add_argument("--only", default="", help="packages, separated by commas")
    parser.add_argument("--no-peers", action="store_true", help="Leakline only")
    parser.add_argument("--folder", type=Path, default=ROOT / "build/real")
    arguments = parser.parse_args()
    only = arguments.only.split(",") if arguments.only else [p.name for p in PACKAGES]
    folder: Path = arguments.folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    asked = () if arguments.no_peers else peers.PEERS
    results = [_result(p, folder, asked) for p in PACKAGES if p.name in only]
    print(_table(results))
    if asked:
        print()
        print(_peer_table(results))
    return 0


def _result(package: Package, folder: Path, asked: tuple[peers.Peer, ...]) -> Result:
    print(f"{package.name} {package.version}", flush=True)
    place = prepare(package, folder)
    seen = build(package, place)
    with Spent() as reading:
        gathered = _gather(seen, folder / "cache")
    with Spent() as analysing:
        program = Program(gathered.units, gathered.links)
        found = analyse(program, load_models(), AnalysisOptions(jobs=JOBS))
    heard = {peer.name: peers.listen(peer, seen) for peer in asked}
    if heard:
        peers.write(folder, package.name, heard)
    return Result(
        package=package,
        lines=_lines(seen),
        functions=len(found.functions),
        incomplete=sum(not status.complete for status in found.functions),
        verdicts=_verdicts(package, place, found),
        reading_s=reading.cpu_s,
        analysis_s=analysing.cpu_s,
        heard=heard,
    )


def _gather(seen: Build, cache: Path) -> Gathered:
    gatherer = Gatherer(find_toolchain(), FactsCache(cache), JOBS, lambda: None)
    gathered = gatherer.gather(seen)
    for failure in gathered.failures:
        print(f"  {failure}")
    return gathered


def _lines(seen: Build) -> int:
    """Lines of the sources that the build compiles, headers not counted."""
    sources = {c.source_path.resolve() for c in seen.compilations}
    return sum(path.read_bytes().count(b"\n") for path in sources)


def _verdicts(
    package: Package, place: Path, found: Analysis
) -> tuple[tuple[str, str], ...]:
    known = read_verdicts().get(package.name, {})
    verdicts = []
    findings = {finding.id: finding for finding in found.findings}
    for finding in findings.values():
        where = place_of(finding, place)
        verdict = verdict_of(where, known)
        verdicts.append((where, verdict))
        print(f"  {where}: {finding.kind.value}, {verdict}")
        if where not in known:
            _print_path(finding, place)
    reported = {where for where, _ in verdicts}
    for where in known.keys() - reported:
        print(f"  {where}: no longer reported ({known[where]})")
    return tuple(verdicts)


def _print_path(finding: Finding, place: Path) -> None:
    for step in finding.path:
        print(f"    {inside(step.file, place)}:{step.line}: {step.event}")


def _table(results: list[Result]) -> str:
    head = ["package", "lines", "functions", "not fully analysed", "findings"]
    rows = [[*head, "real", "false", "unread", "reading s", "analysis s"]]
    for held_out in (False, True):
        chosen = [r for r in results if r.package.held_out is held_out]
        rows += [_row(f"{r.package.name} {r.package.version}", [r]) for r in chosen]
        if len(chosen) > 1:
            name = "together, held out" if held_out else "together"
            rows.append(_row(name, chosen))
    return markdown(rows)


def _row(name: str, results: list[Result]) -> list[str]:
    return [
        name,
        f"{sum(r.lines for r in results):,}",
        f"{sum(r.functions for r in results):,}",
        f"{sum(r.incomplete for r in results):,}",
        f"{sum(len(r.verdicts) for r in results)}",
        *(str(sum(r.count(v) for r in results)) for v in ("real", "false", "unread")),
        f"{sum(r.reading_s for r in results):.0f}",
        f"{sum(r.analysis_s for r in results):.0f}",
    ]


def _peer_table(results: list[Result]) -> str:
    names = [peer.name for peer in peers.PEERS]
    head = ["package"]
    for name in names:
        head += [name, "CPU s"]
    rows = [head]
    for result in results:
        row = [result.package.name]
        for name in names:
            heard = result.heard[name]
            row += [str(len(heard.findings)), f"{heard.cpu_s:.0f}"]
        rows.append(row)
    return markdown(rows)


if __name__ == "__main__":
    sys.exit(main())
