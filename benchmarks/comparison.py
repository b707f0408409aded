"""`python -m benchmarks.comparison`: fills the tables of docs/comparison.md.

The tables stand between two marks in the page and come from raw numbers that a run of
`python -m benchmarks --output benchmarks/results/peers.json` left.
"""

import argparse
import json
import re
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parent.parent
RAW = ROOT / "benchmarks/results/peers.json"
PAGE = ROOT / "docs/comparison.md"

# Names of the modes in the raw numbers, and what the page calls them.
MODES = {
    "leakline": "Leakline `reach`",
    "loss": "Leakline `loss`",
    "pages": "Leakline `pages`",
    "lsan": "LeakSanitizer",
    "heaptrack": "heaptrack",
    "memcheck": "memcheck",
}
_FILLED = re.compile(r"(<!-- filled: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)

# Per workload and mode, CPU seconds and peak KiB of each round.
Raw = dict[str, dict[str, list[tuple[float, float]]]]


def filled(page: str, raw: Raw) -> str:
    """The page with its tables made anew."""
    tables = {"cpu": table(raw, 0, "CPU"), "memory": table(raw, 1, "peak memory")}
    return _FILLED.sub(lambda found: found[1] + tables[found[2]] + found[3], page)


def table(raw: Raw, place: int, title: str) -> str:
    """Ratios to the plain program, the median over the rounds, as Markdown."""
    lines = [
        f"| {title} | {' | '.join(MODES.values())} |",
        "| --- " * (len(MODES) + 1) + "|",
    ]
    for workload, costs in raw.items():
        cells = [_ratio(costs["plain"], costs.get(mode, []), place) for mode in MODES]
        lines.append(f"| {workload} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _ratio(
    plain: list[tuple[float, float]], mode: list[tuple[float, float]], place: int
) -> str:
    ratios = [b[place] / a[place] for a, b in zip(plain, mode, strict=False)]
    return f"{median(ratios):.2f}" if ratios else "-"


def read_raw() -> Raw:
    """The raw numbers that are kept with the page."""
    raw: Raw = json.loads(RAW.read_text())["workloads"]
    return raw


def main() -> None:
    """Fill the page, or say that it is not up to date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing")
    arguments = parser.parse_args()
    page = filled(PAGE.read_text(), read_raw())
    if not arguments.check:
        PAGE.write_text(page)
    elif page != PAGE.read_text():
        raise SystemExit(f"{PAGE} is not what the raw numbers say")


if __name__ == "__main__":
    main()
