"""Places that are hard for lens `pages`: a program never notices, the report tells."""

import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from leakline.recording._format import IdleRecord, Tracking

from .command import Build
from .hostile_places import refusing, showing
from .preload import Recorded, run_both_ways
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


def test_strictly_promised_memory_leaves_the_heap_as_it_was(
    build: Build, tmp_path: Path
) -> None:
    shown = tmp_path / "overcommit_memory"
    shown.write_text("2\n")
    strict = showing({"/proc/sys/vm/overcommit_memory": shown})
    program = build("pages_hostile.c", "-O1")
    recorded = run_both_ways([program], tmp_path, strict, lens="pages")
    assert states(recorded) == [Tracking.UNAVAILABLE]
    assert "gives no shared memory" in sentences(recorded)


def swapping(folder: Path, counters: str) -> Callable[[], None]:
    """Return what makes a system seem to have swap, and such counters of its use."""
    swaps, vmstat = folder / "swaps", folder / "vmstat"
    swaps.write_text("Filename Type Size Used Priority\n/swap file 1 0 -2\n")
    vmstat.write_text(counters)
    return showing({"/proc/swaps": swaps, "/proc/vmstat": vmstat})


def longest_idle_ms(recorded: Recorded) -> int:
    return max((record.longest_ms for record in recorded.of(IdleRecord)), default=0)


def test_swap_that_is_not_used_changes_nothing(build: Build, tmp_path: Path) -> None:
    recorded = run_both_ways(
        [build("pages_staleness.c", "-O1"), "0.4"],
        tmp_path,
        swapping(tmp_path, "nr_free_pages 5\npswpout 7\npgsteal_anon 7\n"),
        lens="pages",
        scan_ms=20,
    )
    assert longest_idle_ms(recorded) > 0
    assert "swapped" not in sentences(recorded)


def test_no_bound_outlives_swapping(build: Build, tmp_path: Path) -> None:
    # Without counters memory may have been swapped out at any time.
    recorded = run_both_ways(
        [build("pages_staleness.c", "-O1"), "0.4"],
        tmp_path,
        swapping(tmp_path, "nr_free_pages 5\n"),
        lens="pages",
        scan_ms=20,
    )
    assert states(recorded) == [Tracking.ACTIVE]
    assert longest_idle_ms(recorded) == 0
    assert "swapped memory out" in sentences(recorded)
