"""A running program answers requests for snapshots and does not notice them."""

import ctypes
import os
import signal
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from leakline.recording._format import (
    GroupRecord,
    SnapshotBeginRecord,
    SnapshotEndRecord,
    Trigger,
)
from leakline.recording.create import create_recording

from .preload import environment, read

STOP_SIGNAL = 62
SYS_RT_SIGQUEUEINFO = 129
REQUEST_MAGIC = 0x4C4C5351
PERIODIC = 1 << 31
LOST_BYTES = 55


def request(pid: int, number: int, flags: int = 0) -> None:
    """Ask a process for a snapshot, as `leakline snapshot` does."""
    value = REQUEST_MAGIC << 32 | flags | number
    information = struct.pack(
        "<iiiiiiQ", STOP_SIGNAL, 0, -1, 0, os.getpid(), os.geteuid(), value
    ).ljust(128, b"\0")
    libc = ctypes.CDLL(None, use_errno=True)
    result = libc.syscall(SYS_RT_SIGQUEUEINFO, pid, STOP_SIGNAL, information)
    assert result == 0, os.strerror(ctypes.get_errno())


class Sleeper:
    """A watched program that sleeps in many kinds of system call."""

    def __init__(self, program: Path, recording: Path) -> None:
        create_recording(recording)
        self.recording = recording
        self.process = subprocess.Popen(
            [program], env=environment(recording), stdout=subprocess.PIPE
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == b"ready\n"

    def answers(self) -> set[int]:
        """Return the requests answered by a complete snapshot."""
        recorded = read(self.recording)
        complete = {
            (writer, record.number)
            for writer, record in recorded.records
            if isinstance(record, SnapshotEndRecord)
        }
        return {
            record.request
            for writer, record in recorded.records
            if isinstance(record, SnapshotBeginRecord)
            and (writer, record.number) in complete
        }

    def wait_for(self, number: int) -> None:
        """Wait until a request is answered."""
        end = time.monotonic() + 120
        while number not in self.answers():
            assert time.monotonic() < end, f"request {number} was not answered"
            time.sleep(0.02)

    def finish(self) -> int:
        """Stop the program; return how often it went through all its sleeps."""
        self.process.send_signal(signal.SIGUSR1)
        output, _ = self.process.communicate(timeout=120)
        assert self.process.returncode == 0
        rounds, _, interrupted = output.decode().partition(" rounds\n")
        assert interrupted == ""
        return int(rounds)


@pytest.fixture
def sleeper(build: Callable[..., Path], tmp_path: Path) -> Iterator[Sleeper]:
    running = Sleeper(build("process_sleeps.c", "-O1"), tmp_path / "recording")
    yield running
    running.process.kill()
    running.process.wait()


def test_a_request_is_answered(sleeper: Sleeper) -> None:
    request(sleeper.process.pid, 4711)
    sleeper.wait_for(4711)
    recorded = read(sleeper.recording)
    begin = next(r for r in recorded.of(SnapshotBeginRecord) if r.request == 4711)
    assert begin.trigger == Trigger.DEMAND
    assert LOST_BYTES in recorded.lost_bytes()
    processes = {writer.process for writer, _ in recorded.records}
    assert {process.pid for process in processes} == {sleeper.process.pid}
    sleeper.finish()


def test_periodic_requests_are_told_apart(sleeper: Sleeper) -> None:
    request(sleeper.process.pid, 7, PERIODIC)
    sleeper.wait_for(7)
    begins = read(sleeper.recording).of(SnapshotBeginRecord)
    assert [begin.trigger for begin in begins] == [Trigger.PERIODIC]
    sleeper.finish()


def test_waits_end_in_time_and_not_before(sleeper: Sleeper) -> None:
    """A round takes half a second; it never ends if requests start sleeps anew."""
    for number in range(1, 601):
        request(sleeper.process.pid, number)
        time.sleep(0.005)
    assert sleeper.finish() >= 1
    assert len(sleeper.answers()) > 50


def test_copies_leave_no_trace(sleeper: Sleeper) -> None:
    for number in range(1, 6):
        request(sleeper.process.pid, number)
        sleeper.wait_for(number)
    children = Path(f"/proc/{sleeper.process.pid}/task/{sleeper.process.pid}/children")
    assert len(children.read_text().split()) <= 1
    sleeper.finish()


def test_each_snapshot_is_complete(sleeper: Sleeper) -> None:
    for number in range(1, 51):
        request(sleeper.process.pid, number)
    sleeper.wait_for(1)
    sleeper.finish()
    recorded = read(sleeper.recording)
    begins = recorded.of(SnapshotBeginRecord)
    assert len(begins) == len(recorded.of(SnapshotEndRecord))
    groups = [group for group in recorded.of(GroupRecord) if group.bytes == LOST_BYTES]
    assert len(groups) == len(begins)
