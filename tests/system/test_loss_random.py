"""Random programs lose their blocks where a simulation of them says.

The simulation (`benchmarks/losses`) asks after each statement which blocks can still be
reached, by a plain search; nothing of Leakline takes part in it. It knows all causes.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from benchmarks.losses.random_program import (
    build,
    lost_blocks,
    random_program,
    wrong_findings,
)

from .conftest import Outcome

STATEMENTS = 400


@pytest.mark.parametrize(
    ("optimisation", "seed", "options"),
    [
        ("-O0", 1, ()),
        ("-O2", 1, ("--refine",)),
        ("-O0", 4, ("--births",)),
        ("-O2", 4, ("--births",)),
    ],
)
def test_losses_are_where_the_simulation_has_them(
    optimisation: str,
    seed: int,
    options: tuple[str, ...],
    tmp_path: Path,
    watch: Callable[..., Outcome],
) -> None:
    program = random_program(seed, STATEMENTS)
    command = build(program, tmp_path, optimisation)
    report = watch(command, "--lens", "loss", *options).report
    refined = "--refine" in options
    assert list(wrong_findings(report, program, refined=refined)) == []
    # A register may hold some at the end, and what those lead to.
    assert len(program.losses) * 0.9 <= lost_blocks(report) <= len(program.losses)
    found = {one["loss"]["cause"] for one in report["findings"] if one["loss"]}
    assert found >= {loss.cause for loss in program.losses.values()}


def test_the_simulation_knows_every_cause() -> None:
    causes = {
        loss.cause
        for seed in (1, 4)
        for loss in random_program(seed, STATEMENTS).losses.values()
    }
    assert causes == {
        "overwritten",
        "container-freed",
        "unmapped",
        "thread-exit",
        "out-of-scope",
        "never-stored",
    }
