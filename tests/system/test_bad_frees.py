"""Frees and resizes of what is no block: nothing happens, and the report says so."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Outcome

FREE_ALREADY = (
    "a block was freed that was free already, or not at its start; the call did nothing"
)
NO_BLOCK = "memory was freed that is no block of the heap; the call did nothing"

RESIZED_FREE = (
    "a block was resized that was free already, or not at its start; the call failed"
)
RESIZED_NO_BLOCK = "memory was resized that is no block of the heap; the call failed"


@pytest.mark.parametrize(
    ("way", "sentence", "places"),
    [
        ("twice", FREE_ALREADY, 2),
        ("inside", FREE_ALREADY, 1),
        ("foreign", NO_BLOCK, 1),
        ("resized", RESIZED_FREE, 1),
        ("resized inside", RESIZED_FREE, 1),
        ("foreign resized", RESIZED_NO_BLOCK, 1),
        ("resized to nothing", FREE_ALREADY, 1),
    ],
)
def test_the_program_goes_on_and_the_report_says_where(
    way: str,
    sentence: str,
    places: int,
    build: Callable[..., Path],
    watch: Callable[..., Outcome],
) -> None:
    outcome = watch([build("process_bad_frees.c", "-O2", "-g"), way])
    assert (outcome.returncode, outcome.stdout) == (0, "whole\n")
    assert outcome.report["findings"] == []
    said = outcome.report["run"]["not_seen"]
    assert len(set(said)) == places
    for one in said:
        assert re.search(
            rf": {re.escape(sentence)}.* main \(process_bad_frees\.c:\d+\)", one
        )


def test_one_place_is_told_once(
    build: Callable[..., Path], watch: Callable[..., Outcome]
) -> None:
    outcome = watch([build("process_bad_frees.c", "-O2", "-g"), "loop"])
    (said,) = outcome.report["run"]["not_seen"]
    assert f": {FREE_ALREADY} (3 times), by " in said


def test_nothing_is_said_of_good_frees(
    build: Callable[..., Path], watch: Callable[..., Outcome]
) -> None:
    outcome = watch([build("process_bad_frees.c", "-O2")])
    assert outcome.report["run"]["not_seen"] == []
