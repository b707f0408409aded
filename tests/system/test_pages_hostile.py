"""Places that are hard for lens `pages`: a program never notices, the report tells."""

import resource
from pathlib import Path

import pytest

from leakline.recording._format import Tracking

from .command import Build
from .hostile_places import refusing
from .preload import run_both_ways
from .test_pages_behaviour import sentences, states

# Numbers of system calls on x86-64.
MADVISE = 28
FALLOCATE = 285


def allow_little_locked_memory() -> None:
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (65536, 65536))


@pytest.mark.parametrize("what", ["mappings", "huge", "locked"])
def test_hard_places_go_unnoticed(build: Build, tmp_path: Path, what: str) -> None:
    program = build("pages_hostile.c", "-O1")
    recorded = run_both_ways([program, what], tmp_path, lens="pages", compact=1)
    assert states(recorded) == [Tracking.ACTIVE]


def test_little_locked_memory_is_enough(build: Build, tmp_path: Path) -> None:
    program = build("pages_hostile.c", "-O1")
    recorded = run_both_ways(
        [program], tmp_path, allow_little_locked_memory, lens="pages"
    )
    assert states(recorded) == [Tracking.ACTIVE]


# What the kernel refuses, how the lens does then, and what the report says.
REFUSALS = [
    (MADVISE, Tracking.UNAVAILABLE, "does not tell which pages are touched"),
    (FALLOCATE, Tracking.ACTIVE, ""),
]


@pytest.mark.parametrize(("number", "state", "sentence"), REFUSALS)
def test_what_cannot_be_told_is_said_to_be_unknown(
    build: Build, tmp_path: Path, number: int, state: Tracking, sentence: str
) -> None:
    program = build("pages_hostile.c", "-O1")
    recorded = run_both_ways([program], tmp_path, refusing(number), lens="pages")
    assert states(recorded) == [state]
    assert sentence in sentences(recorded)
