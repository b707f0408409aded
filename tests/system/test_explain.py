"""What `leakline explain` takes from the checker: calls and paths besides the leaking."""

import json
from pathlib import Path

import pytest

from .command import leakline
from .conftest import PROGRAMS

SOURCE = PROGRAMS / "explain_handover.c"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("explain") / "check.json"
    leakline(
        "check", "--format", "json", "--report-file", path, SOURCE.name, cwd=PROGRAMS
    )
    return path


def remedy(report: Path, function: str) -> str:
    """The last part of the story of the leak in a function, in one line."""
    findings = json.loads(report.read_text())["findings"]
    (identity,) = (
        one["id"]
        for one in findings
        if one["loss"]["frames"][0]["function"] == function
    )
    told = leakline("explain", identity, report, cwd=PROGRAMS).stdout
    return " ".join(told.partition("What to do\n")[2].split())


def line(text: str) -> int:
    """The first line of the source that holds the text."""
    lines = SOURCE.read_text().splitlines()
    return next(number for number, one in enumerate(lines, 1) if text in one)


def test_functions_on_the_way_use_and_release(report: Path) -> None:
    told = remedy(report, "send_or_lose")
    lost = line("if (send_away") + 1
    assert told.startswith(f"Release `ring` with `ring_close` before line {lost}.")
    assert f"`show` ({SOURCE.name}:{line('show(ring);')}) only uses the block" in told
    called = f"`send_away` ({SOURCE.name}:{line('if (send_away')})"
    assert f"{called} releases the block on other paths, not on this one" in told
    assert "Other ways from the allocation do not pass that line" in told
    assert "must not be released twice" not in told


def test_a_line_that_paths_reach_with_released_blocks(report: Path) -> None:
    told = remedy(report, "release_on_one_path")
    assert "Release `text` with `free`" in told
    assert (
        f"release such a block at {SOURCE.name}:{line('free(text)')} and may come"
        in told
    )
    assert "one release is enough" not in told


def test_a_line_that_every_path_passes(report: Path) -> None:
    told = remedy(report, "release_nowhere")
    assert "Every way from the allocation passes that line" in told
    assert "twice" not in told
