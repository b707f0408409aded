"""Frees of what is no block: nothing happens, and the report says so."""

from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Outcome

FREE_ALREADY = (
    "a block was freed that was free already, or not at its start; the call did nothing"
)
NO_BLOCK = "memory was freed that is no block of the heap; the call did nothing"


@pytest.mark.parametrize(
    ("way", "sentence"),
    [
        ("twice", f"{FREE_ALREADY} (2 times)"),
        ("inside", FREE_ALREADY),
        ("foreign", NO_BLOCK),
    ],
)
def test_the_program_goes_on_and_the_report_says_it(
    way: str,
    sentence: str,
    build: Callable[..., Path],
    watch: Callable[..., Outcome],
) -> None:
    outcome = watch([build("process_bad_frees.c", "-O2"), way])
    assert (outcome.returncode, outcome.stdout) == (0, "whole\n")
    assert outcome.report["findings"] == []
    (said,) = outcome.report["run"]["not_seen"]
    assert said.endswith(f": {sentence}.")


def test_nothing_is_said_of_good_frees(
    build: Callable[..., Path], watch: Callable[..., Outcome]
) -> None:
    outcome = watch([build("process_bad_frees.c", "-O2")])
    assert outcome.report["run"]["not_seen"] == []
