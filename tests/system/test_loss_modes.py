"""Modes of lens `loss`, and losses in periodic looks."""

from collections.abc import Callable
from pathlib import Path

import pytest

from .command import leakline
from .conftest import Outcome

PROGRAM = "loss_modes.c"


def causes(outcome: Outcome) -> dict[str, str | None]:
    """Return the cause of each loss by the function that allocates."""
    return {
        finding["allocation"]["frames"][0]["function"]: finding["loss"]
        and finding["loss"]["cause"]
        for finding in outcome.report["findings"]
        if finding["kind"] == "lost"
    }


@pytest.mark.parametrize("options", [("--mode", "full"), ("--lens", "loss")])
def test_full_mode_searches_every_block(
    options: tuple[str, str], build: Callable[..., Path], watch: Callable[..., Outcome]
) -> None:
    found = causes(watch([build(PROGRAM, "-O1")], *options))
    assert found == {
        "FN_in_small_bad": "container-freed",
        "FN_in_large_bad": "container-freed",
    }


def test_partial_mode_leaves_large_blocks_alone_and_says_so(
    build: Callable[..., Path], watch: Callable[..., Outcome]
) -> None:
    outcome = watch([build(PROGRAM, "-O1")], "--mode", "partial=1000")
    found = causes(outcome)
    assert found["FN_in_small_bad"] == "container-freed"
    assert found["FN_in_large_bad"] != "container-freed"
    told = outcome.report["run"]["not_seen"]
    assert any("more than 1000 bytes" in sentence for sentence in told)


def test_minimal_mode_is_reach_alone(
    build: Callable[..., Path], watch: Callable[..., Outcome]
) -> None:
    outcome = watch([build(PROGRAM, "-O1")], "--lens", "loss", "--mode", "minimal")
    assert causes(outcome) == {"FN_in_small_bad": None, "FN_in_large_bad": None}
    assert outcome.report["run"]["lenses"]["loss"] == "off"


@pytest.mark.parametrize("mode", ["partial", "partial=0", "partial=x", "some", ""])
def test_other_modes_are_refused(mode: str) -> None:
    done = leakline("run", "--mode", mode, "--", "true")
    assert done.returncode == 2
    assert "partial=BYTES" in done.stderr


def test_a_periodic_look_tells_losses_and_only_those(
    build: Callable[..., Path], watch: Callable[..., Outcome]
) -> None:
    program = build("loss_periodic.c", "-O1")
    outcome = watch([program], "--lens", "loss", "--every", "0.2")
    (finding,) = [one for one in outcome.report["findings"] if one["kind"] == "lost"]
    assert finding["allocation"]["frames"][0]["function"] == "overwritten_bad"
    loss = finding["loss"]
    assert (loss["cause"], loss["slot"]) == ("overwritten", "slot")
    assert loss["frames"][0]["function"] == "lose"
