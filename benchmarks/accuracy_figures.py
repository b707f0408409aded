"""What came of injected leaks, as the figures 10 and 11 of SWAT's paper show it."""

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.accuracy_injected import (
    DEFAULT,
    JOINED,
    PREDICATES,
    RATES,
    Result,
    idle,
    idle_by_pages,
)
from benchmarks.table import markdown


@dataclass(frozen=True, slots=True)
class Share:
    """So many of so many."""

    part: int
    whole: int

    @property
    def value(self) -> float:
        """As a number; 0 of nothing."""
        return self.part / self.whole if self.whole else 0.0

    def __str__(self) -> str:
        """As in a table."""
        return f"{self.value:.4f}" if self.whole else "-"


@dataclass(frozen=True, slots=True)
class Summary:
    """The runs of one program with one seed.

    Attributes:
        recall: Leaked blocks that were reported, of those leaked long ago, by mode.
        false: Reported blocks that are neither leaked nor stale, by mode or predicate.
        sites: Leaking sites that were found, of those drawn.
        is_good: Whether the goals are met.
    """

    program: str
    seed: int
    cpu_s: float
    leaks: int
    recall: dict[str, Share]
    false: dict[str, Share]
    sites: Share
    is_good: bool


def summarise(result: Result) -> Summary:
    """Return what is to be shown of many blocks."""
    modes = dict.fromkeys(RATES, idle) | {JOINED: idle_by_pages}
    outcome = result.outcomes[DEFAULT]
    false = {
        mode: Share(*result.false_positives(mode, predicate))
        for mode, predicate in modes.items()
    }
    false |= {
        name: Share(*result.false_positives(DEFAULT, predicate))
        for name, predicate in PREDICATES.items()
    }
    return Summary(
        result.program,
        result.seed,
        outcome.cpu_ms / 1000,
        sum(block.leaked_ms is not None for block in outcome.blocks.values()),
        {
            mode: Share(*result.recall(mode, predicate))
            for mode, predicate in modes.items()
        },
        false,
        Share(*result.sites_found()),
        result.is_good(),
    )


def render(runs: Summary) -> str:
    """One line for the runs of one program with one seed."""
    recall, joined = runs.recall[DEFAULT], runs.recall[JOINED]
    return (
        f"{runs.program}, seed {runs.seed}, {runs.cpu_s:.1f} s: {runs.leaks:,} leaks "
        f"injected; recall {recall} of {recall.whole:,} old ones, with pages {joined} of "
        f"{joined.whole:,}; of {runs.sites.whole} leaking sites drawn, "
        f"{runs.sites.part} found; false {_false(runs.false[DEFAULT])}"
    )


def figures(runs: list[Summary]) -> str:
    """Tables of all programs; of several seeds the worst."""
    programs = list(dict.fromkeys(one.program for one in runs))

    def row(label: str, worst: Callable[[list[Summary]], str]) -> list[str]:
        of = [[one for one in runs if one.program == name] for name in programs]
        return [label, *map(worst, of)]

    rows = [["", *programs]]
    rows.append(row("leaked blocks", lambda of: f"{min(one.leaks for one in of):,}"))
    rows += [row(f"recall, {mode}", _least(mode)) for mode in [*RATES, JOINED]]
    labels = [*RATES, JOINED, *PREDICATES]
    rows += [row(f"false, {label}", _falsest(label)) for label in labels]
    rows.append(row("leaking sites found", _fewest_sites))
    return markdown(rows)


def _least(mode: str) -> Callable[[list[Summary]], str]:
    return lambda of: str(min((one.recall[mode] for one in of), key=_value))


def _falsest(label: str) -> Callable[[list[Summary]], str]:
    return lambda of: _false(max((one.false[label] for one in of), key=_value))


def _fewest_sites(of: list[Summary]) -> str:
    fewest = min((one.sites for one in of), key=_value)
    return f"{fewest.part} of {fewest.whole}"


def _value(share: Share) -> float:
    return share.value


def _false(share: Share) -> str:
    return f"{share.part:,} ({share.value:.2%})" if share.part else "0"
