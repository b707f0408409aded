"""What a program can tell the runtime, and what it hides from it."""

import os
from collections.abc import Callable
from pathlib import Path

from leakline.recording._format import NotSeen, NotSeenRecord
from leakline.recording.create import create_recording

from .conftest import PROGRAMS
from .preload import environment, read, run, run_both_ways

INCLUDE = PROGRAMS.parent.parent / "native" / "include"


def test_the_header_works_with_and_without_the_runtime(
    build: Callable[..., Path], tmp_path: Path
) -> None:
    program = build("process_interface.c", "-O1", f"-I{INCLUDE}")
    recording = tmp_path / "recording"
    create_recording(recording)
    assert run([program], os.environ).stdout == b"0 0\n"
    assert run([program], environment(recording)).stdout == b"0 1\n"
    assert set(read(recording).lost_bytes()) == {811}


def test_an_allocator_of_the_program_is_told(
    build: Callable[..., Path], tmp_path: Path
) -> None:
    program = build("process_own_malloc.c", "-O1", "-fno-builtin")
    recorded = run_both_ways([program], tmp_path)
    assert [gap.reason for gap in recorded.of(NotSeenRecord)] == [NotSeen.ALLOCATOR]


def test_a_stub_of_the_program_is_no_allocator(
    build: Callable[..., Path], tmp_path: Path
) -> None:
    program = build("process_fixed_place.c", "-O1", "-fno-pic", "-no-pie")
    recorded = run_both_ways([program], tmp_path)
    assert recorded.of(NotSeenRecord) == []


def test_threads_that_block_all_signals_are_stopped(
    build: Callable[..., Path], tmp_path: Path
) -> None:
    recorded = run_both_ways([build("process_masked.c", "-O1")], tmp_path)
    assert recorded.of(NotSeenRecord) == []
    assert recorded.lost_bytes() == []
