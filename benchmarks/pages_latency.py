"""How long redis takes to answer under lens `pages`, beside redis as it is.

Both serve the same requests at the same time, one by turns, so that whatever else the
machine does falls on both.
"""

import gc
import os
import socket
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter_ns

from benchmarks.modes import leakline_pages
from benchmarks.redis_client import (
    GET_ANSWER,
    SET_ANSWER,
    ask,
    get_request,
    served,
    set_request,
)
from benchmarks.table import markdown

KEYS = 50_000
HOT_KEYS = 2_000
COLD_SHARE = 0.01  # of requests are for any key, the others for hot ones
REQUESTS = 40_000  # in a round, of each server
WARM_UP = 10_000
SHARES = (50, 90, 99, 99.9)


@dataclass(frozen=True, slots=True)
class Round:
    """Microseconds from request to answer, by the share of requests that took less."""

    plain: dict[float, float]
    pages: dict[float, float]


def measure(scratch: Path, rounds: int) -> list[Round]:
    """Compare so many times the same pair of servers."""
    watched = {**os.environ, **dict(leakline_pages(scratch).environment)}
    random = Random(1)  # noqa: S311 - the same keys in every run
    with (
        served((), os.environ, scratch) as plain,
        served((), watched, scratch) as pages,
    ):
        for link in (plain, pages):
            _fill(link)
        _take_turns([plain, pages], random, WARM_UP)
        return [_round(plain, pages, random) for _ in range(rounds)]


def _fill(link: socket.socket) -> None:
    for key in range(0, KEYS, 100):
        some = b"".join(set_request(one) for one in range(key, key + 100))
        ask(link, some, 100 * len(SET_ANSWER))


def _round(plain: socket.socket, pages: socket.socket, random: Random) -> Round:
    took = _take_turns([plain, pages], random, REQUESTS)
    return Round(*(_shares(sorted(one)) for one in took))


def _take_turns(
    links: list[socket.socket], random: Random, requests: int
) -> list[list[int]]:
    """Return how long each request took, in nanoseconds, by server."""
    took: list[list[int]] = [[] for _ in links]
    gc.disable()
    for number in range(requests):
        is_cold = random.random() < COLD_SHARE
        key = random.randrange(KEYS if is_cold else HOT_KEYS)
        request = set_request(key) if number % 10 == 0 else get_request(key)
        size = len(SET_ANSWER) if number % 10 == 0 else len(GET_ANSWER)
        first = random.randrange(2)
        for which in (first, 1 - first):
            began_ns = perf_counter_ns()
            ask(links[which], request, size)
            took[which].append(perf_counter_ns() - began_ns)
    gc.enable()
    return took


def _shares(took_ns: list[int]) -> dict[float, float]:
    return {
        share: took_ns[min(int(len(took_ns) * share / 100), len(took_ns) - 1)] / 1000
        for share in SHARES
    }


def render(rounds: list[Round]) -> str:
    """Medians over the rounds, and the ratio within rounds."""
    rows = [["share of requests", "plain µs", "pages µs", "ratio", "lowest", "highest"]]
    for share in SHARES:
        ratios = sorted(one.pages[share] / one.plain[share] for one in rounds)
        rows.append(
            [
                f"{share} %",
                f"{median(one.plain[share] for one in rounds):.0f}",
                f"{median(one.pages[share] for one in rounds):.0f}",
                f"{median(ratios):.3f}",
                f"{ratios[0]:.2f}",
                f"{ratios[-1]:.2f}",
            ]
        )
    return markdown(rows)
