"""Threads begin and end as ever, and what they lose is found."""

from collections.abc import Callable
from pathlib import Path

import pytest

from .preload import run_both_ways

THREADS = 50 * 21


def test_a_thousand_threads_end_in_every_way(
    build: Callable[..., Path], tmp_path: Path
) -> None:
    recorded = run_both_ways([build("process_threads.c", "-O1")], tmp_path)
    assert sum(recorded.lost_bytes()) >= 77 * (THREADS - 5)


@pytest.mark.parametrize("attempt", range(10))
def test_threads_signals_and_children_together(
    attempt: int, build: Callable[..., Path], tmp_path: Path
) -> None:
    assert attempt >= 0
    run_both_ways([build("process_storm.c", "-O1")], tmp_path)
