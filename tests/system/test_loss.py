"""Lens `loss` names the line that lost each block of the corpus."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .conftest import PROGRAMS, Outcome

MARK = re.compile(r"// loss\((\w+)\): ([\w-]+)")


def expected_losses(source: Path) -> dict[str, tuple[int, str]]:
    """Return line and cause of each marked loss, by the allocating function."""
    return {
        mark[1]: (number, mark[2])
        for number, line in enumerate(source.read_text().splitlines(), 1)
        if (mark := MARK.search(line))
    }


def lost_finding(outcome: Outcome, function: str) -> dict[str, Any]:
    (finding,) = [
        finding
        for finding in outcome.report["findings"]
        if finding["kind"] == "lost"
        and any(
            frame["function"] == function for frame in finding["allocation"]["frames"]
        )
    ]
    return dict(finding)


@pytest.mark.parametrize("name", ["loss_memory.c", "loss_cleared.c"])
@pytest.mark.parametrize("optimisation", ["-O0", "-O2"])
def test_each_loss_is_named(
    name: str,
    optimisation: str,
    build: Callable[..., Path],
    watch: Callable[..., Outcome],
) -> None:
    outcome = watch([build(name, optimisation)], "--lens", "loss")
    for function, (line, cause) in expected_losses(PROGRAMS / name).items():
        loss = lost_finding(outcome, function)["loss"]
        assert loss["cause"] == cause, function
        assert line in [frame["line"] for frame in loss["frames"][:2]], function


@pytest.mark.parametrize("flags", [("-O0",), ("-O2",), ("-O0", "-no-pie")])
def test_a_global_variable_is_named(
    flags: tuple[str, ...], build: Callable[..., Path], watch: Callable[..., Outcome]
) -> None:
    outcome = watch([build("loss_memory.c", *flags)], "--lens", "loss")
    slots = {
        function: lost_finding(outcome, function)["loss"]["slot"]
        for function in ("overwritten_global_bad", "ring_bad", "overwritten_field_bad")
    }
    assert slots == {
        "overwritten_global_bad": "global_slot",
        "ring_bad": "list",
        "overwritten_field_bad": "holder->text",
    }


def test_a_block_that_memory_never_held_says_so(
    build: Callable[..., Path], watch: Callable[..., Outcome]
) -> None:
    outcome = watch([build("loss_memory.c", "-O2")], "--lens", "loss")
    finding = lost_finding(outcome, "never_in_memory_bad")
    assert finding["loss"]["cause"] == "never-stored"
    assert finding["loss"]["frames"][0]["function"] == "keep_in_register"
