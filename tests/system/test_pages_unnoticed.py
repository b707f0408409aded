"""Real programs under lens `pages` behave as they always do."""

from pathlib import Path

import pytest
from benchmarks.commands import COMMANDS, run

from .command import Build
from .preload import run_both_ways
from .test_real_programs import scratch, watching

__all__ = ["scratch"]


@pytest.mark.parametrize("command", COMMANDS)
def test_output_and_status_are_the_same(command: str, scratch: Path) -> None:
    report = scratch.parent / "report.txt"
    plain = run([], command, scratch)
    assert run(watching(report, "--lens", "pages"), command, scratch) == plain
    assert "Checking was active: lens pages" in report.read_text()


def test_a_storm_of_threads_signals_and_forks_passes(
    build: Build, tmp_path: Path
) -> None:
    run_both_ways([build("process_storm.c", "-O1")], tmp_path, lens="pages")
