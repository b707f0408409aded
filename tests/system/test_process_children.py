"""Children report what they lost themselves, and nothing of their parent's."""

from collections.abc import Callable
from pathlib import Path

import pytest

from leakline.recording._format import (
    ForkRecord,
    GroupRecord,
    Origin,
    ProcessEndRecord,
    ProcessStartRecord,
    SpawnRecord,
)

from .preload import Recorded, run_both_ways

LOST_BEFORE_FORK = 401
LOST_IN_CHILD = 402
WAYS = [
    "fork",
    "fork-exit",
    "fork-signal",
    "fork-exec",
    "vfork-exec",
    "vfork-exit",
    "vfork-fail",
    "spawn",
    "shell",
    "clone",
    "thread",
    "twice",
]


def origins(recorded: Recorded) -> list[int]:
    return sorted(start.origin for start in recorded.of(ProcessStartRecord))


@pytest.mark.parametrize("way", WAYS)
def test_each_way_to_start_a_child_stays_the_same(
    way: str, build: Callable[..., Path], tmp_path: Path
) -> None:
    recorded = run_both_ways([build("process_children.c", "-O1"), way], tmp_path)
    assert recorded.lost_bytes().count(LOST_BEFORE_FORK) == 1


@pytest.mark.parametrize("way", ["fork", "thread", "twice"])
def test_a_child_reports_what_it_lost_itself(
    way: str, build: Callable[..., Path], tmp_path: Path
) -> None:
    recorded = run_both_ways([build("process_children.c", "-O1"), way], tmp_path)
    assert recorded.lost_bytes().count(LOST_IN_CHILD) == 1
    loser = next(
        writer.process.pid
        for writer, record in recorded.records
        if isinstance(record, GroupRecord) and record.bytes == LOST_IN_CHILD
    )
    starts = recorded.of(ProcessStartRecord)
    assert [start.origin for start in starts if start.pid == loser] == [Origin.FORK]


def test_the_parent_names_its_children(
    build: Callable[..., Path], tmp_path: Path
) -> None:
    program = build("process_children.c", "-O1")
    recorded = run_both_ways([program, "fork"], tmp_path)
    children = {start.pid for start in recorded.of(ProcessStartRecord)}
    assert {record.child_pid for record in recorded.of(ForkRecord)} <= children


def test_spawned_programs_are_named(build: Callable[..., Path], tmp_path: Path) -> None:
    recorded = run_both_ways([build("process_children.c", "-O1"), "spawn"], tmp_path)
    spawned = recorded.of(SpawnRecord)
    assert [record.text for record in spawned] == [b"/bin/sh"]
    ended = {
        writer.process.pid
        for writer, record in recorded.records
        if isinstance(record, ProcessEndRecord)
    }
    assert spawned[0].child_pid in ended


def test_what_a_vfork_child_becomes_is_named(
    build: Callable[..., Path], tmp_path: Path
) -> None:
    recorded = run_both_ways(
        [build("process_children.c", "-O1"), "vfork-exec"], tmp_path
    )
    spawned = recorded.of(SpawnRecord)
    assert [record.text for record in spawned] == [b"/bin/sh"]
    starts = recorded.of(ProcessStartRecord)
    assert spawned[0].child_pid in {start.pid for start in starts}


def test_a_vfork_child_that_fails_is_not_named(
    build: Callable[..., Path], tmp_path: Path
) -> None:
    recorded = run_both_ways(
        [build("process_children.c", "-O1"), "vfork-fail"], tmp_path
    )
    assert recorded.of(SpawnRecord) == []


@pytest.mark.parametrize("way", ["vfork-exit", "clone"])
def test_copies_that_share_memory_write_nothing(
    way: str, build: Callable[..., Path], tmp_path: Path
) -> None:
    recorded = run_both_ways([build("process_children.c", "-O1"), way], tmp_path)
    assert origins(recorded) == [Origin.EXEC]


def test_children_are_left_alone_if_asked(
    build: Callable[..., Path], tmp_path: Path
) -> None:
    program = build("process_children.c", "-O1")
    recorded = run_both_ways([program, "shell"], tmp_path, children=0)
    assert origins(recorded) == [Origin.EXEC]
