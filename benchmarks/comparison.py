"""`python -m benchmarks.comparison`: fills the tables of README.md and docs/comparison.md.

The tables stand between two marks in a page and come from raw numbers that runs of
`python -m benchmarks --output FILE` left in benchmarks/results: `peers.json`, and, when
Leakline alone was measured later (`--no-peers`), `leakline.json`, whose modes replace
those of the first. A ratio always compares rounds of the same run.
"""

import argparse
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks/results"
RAW = (RESULTS / "peers.json", RESULTS / "leakline.json")
PAGES = (ROOT / "README.md", ROOT / "docs/comparison.md")

# Names of the modes in the raw numbers, and what the pages call them.
MODES = {
    "leakline": "`reach`",
    "loss": "`--lens loss`",
    "pages": "`--lens pages`",
    "accesses": "`--lens accesses`",
    "lsan": "LeakSanitizer",
    "heaptrack": "heaptrack",
    "memcheck": "memcheck",
}
_FILLED = re.compile(r"(<!-- filled: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
_MANY = 10  # ratios from here on are given without decimals

# CPU seconds and peak KiB of one round, and all rounds per workload and mode.
Cost = Sequence[float]
Raw = dict[str, dict[str, list[Cost]]]
# Ratios to the plain program per workload and mode, of each round.
Ratios = dict[str, dict[str, list[Cost]]]


class UnusableNumbersError(Exception):
    """The raw numbers do not say what they should."""


def ratios(runs: Sequence[Raw]) -> Ratios:
    """The ratios of all runs; for a mode that several measured, those of the last."""
    found: Ratios = {}
    for run in runs:
        for workload, costs in run.items():
            plain = costs.get("plain")
            if not plain:
                raise UnusableNumbersError(f"{workload} was not measured without tools")
            for mode in costs.keys() & MODES.keys():
                pairs = zip(plain, costs[mode], strict=False)
                found.setdefault(workload, {})[mode] = [
                    [under / alone for alone, under in zip(*pair, strict=True)]
                    for pair in pairs
                ]
    return found


def cost_table(found: Ratios, place: int, title: str) -> str:
    """A row per workload: the median over the rounds."""
    modes = [mode for mode in MODES if any(of.get(mode) for of in found.values())]
    rows = [
        [workload, *(_middle(of.get(mode, []), place) for mode in modes)]
        for workload, of in found.items()
    ]
    return _markdown([title, *(MODES[mode] for mode in modes)], rows)


def span_table(found: Ratios, place: int, title: str) -> str:
    """A row per mode: the smallest, the middle and the largest of the workloads."""
    rows = []
    for mode, name in MODES.items():
        values = sorted(
            (median(one[place] for one in of[mode]), workload)
            for workload, of in found.items()
            if of.get(mode)
        )
        if values:
            middle = _number(median(value for value, _ in values))
            ends = [f"{_number(values[end][0])} ({values[end][1]})" for end in (0, -1)]
            rows.append([name, ends[0], middle, ends[1]])
    return _markdown([title, "least", "middle", "most"], rows)


TABLES: dict[str, Callable[[Ratios], str]] = {
    "cpu": lambda found: cost_table(found, 0, "CPU"),
    "memory": lambda found: cost_table(found, 1, "peak memory"),
    "memory_span": lambda found: span_table(found, 1, "peak memory"),
}


def filled(page: str, found: Ratios) -> str:
    """The page with its tables made anew."""

    def made(mark: re.Match[str]) -> str:
        if mark[2] not in TABLES:
            raise UnusableNumbersError(f"there is no table {mark[2]!r}")
        return mark[1] + TABLES[mark[2]](found) + mark[3]

    return _FILLED.sub(made, page)


def read_raw() -> list[Raw]:
    """The raw numbers that are kept with the pages."""
    return [json.loads(path.read_text())["workloads"] for path in RAW if path.exists()]


def _middle(rounds: Sequence[Cost], place: int) -> str:
    return _number(median(one[place] for one in rounds)) if rounds else "-"


def _number(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio >= _MANY else f"{ratio:.2f}"


def _markdown(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heading, ["---"] * len(heading), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main() -> None:
    """Fill the pages, or say which is not up to date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing")
    arguments = parser.parse_args()
    found = ratios(read_raw())
    for path in PAGES:
        page = filled(path.read_text(), found)
        if not arguments.check:
            path.write_text(page)
        elif page != path.read_text():
            raise SystemExit(f"{path} is not what the raw numbers say")


if __name__ == "__main__":
    main()
