"""`--loss-stacks`: the whole call stack of every store that lost or created references."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .conftest import Outcome, watch_in

PROGRAM = "loss_births.c"


def lost(outcome: Outcome) -> dict[str, dict[str, Any]]:
    """Return the lost findings by the function that allocates."""
    return {
        finding["allocation"]["frames"][0]["function"]: finding
        for finding in outcome.report["findings"]
        if finding["kind"] == "lost"
    }


def places(stack: dict[str, Any]) -> list[tuple[str, int]]:
    return [(frame["function"], frame["line"]) for frame in stack["frames"]]


@pytest.mark.parametrize("optimisation", ["-O0", "-O2"])
def test_stacks_go_on_where_two_frames_end(
    optimisation: str, build: Callable[..., Path], tmp_path: Path
) -> None:
    program = build(PROGRAM, optimisation)
    short = lost(watch_in(tmp_path, [program], "--births"))
    whole = lost(watch_in(tmp_path, [program], "--births", "--loss-stacks"))
    assert set(short) == set(whole)
    for name, finding in whole.items():
        for part in ("loss", "birth"):
            brief, full = places(short[name][part]), places(finding[part])
            assert full[: len(brief)] == brief, name
            assert "main" in [function for function, _ in full], name
