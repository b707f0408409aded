"""Snapshots of running programs: asks for them and follows the recording."""

import os
import select
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from leakline.cli.progress import Progress
from leakline.errors import LeaklineError, ProgramError
from leakline.live.processes import open_process, refuse_unwatched
from leakline.live.requests import ask_once, ask_periodically, new_request
from leakline.recording._format import (
    OPTIONS,
    OptionRecord,
    ProcessEndRecord,
    ProcessStartRecord,
    Record,
    SnapshotBeginRecord,
    SnapshotEndRecord,
)
from leakline.recording.chunks import Damage, ProcessKey, read_chunks
from leakline.recording.decode import decode_records
from leakline.recording.reader import open_recording

DEFAULT_SIGNAL = int(OPTIONS["stop_signal"].default)

_POLL_S = 0.02
_ASK_AGAIN_S = 5.0


class Follower:
    """Reads a recording while it is written.

    Attributes:
        running: Ids of processes that began and did not end, with their stop signal;
            a program that became another one by exec is there once.
        answered: Numbers of the requests whose snapshots are complete.
    """

    def __init__(self, descriptor: int, position: int) -> None:
        self.running: dict[int, int] = {}
        self.answered: set[int] = set()
        self._descriptor = descriptor
        self._position = position
        self._begun: dict[tuple[ProcessKey, int], int] = {}

    def poll(self) -> None:
        """Takes in what was written since the last time."""
        damage = Damage()
        for chunk in read_chunks(self._descriptor, self._position, damage):
            if len(chunk.records) < chunk.header.length:
                return  # still being written
            for record in decode_records(chunk, damage):
                self._take(chunk.process, chunk.header.writer, record)
            self._position = chunk.end

    def _take(self, process: ProcessKey, writer: int, record: Record) -> None:
        match record:
            case ProcessStartRecord():
                self.running[process.pid] = DEFAULT_SIGNAL
            case ProcessEndRecord():
                self.running.pop(process.pid, None)
            case OptionRecord(text=text) if text.startswith(b"stop_signal="):
                number = text.partition(b"=")[2]
                if number.isdigit():
                    self.running[process.pid] = int(number)
            case SnapshotBeginRecord():
                self._begun[process, writer] = record.request
            case SnapshotEndRecord():
                self.answered.add(self._begun.pop((process, writer), 0))
            case _:
                pass


@contextmanager
def follow(recording: Path) -> Iterator[Follower]:
    """Opens a recording for following.

    Raises:
        RecordingError: It is not a recording.
    """
    with open_recording(recording) as file:
        yield Follower(file.descriptor, file.position)


def take_snapshot(pid: int, recording: Path, timeout_s: float) -> None:
    """Asks a process for a snapshot and waits until the recording holds it.

    Raises:
        ProgramError: The process is not watched, ended, or gave no answer in time.
    """
    process = open_process(pid)
    try:
        with follow(recording) as follower, Progress() as progress:
            follower.poll()
            demand = _Demand(pid, process, follower)
            demand.wait(progress, timeout_s)
    finally:
        os.close(process)


def still_running(recording: Path) -> list[int]:
    """The processes of a recording that have not ended."""
    with follow(recording) as follower:
        follower.poll()
        return [
            pid
            for pid, signal_number in follower.running.items()
            if _is_watched(pid, signal_number)
        ]


class Periodic:
    """Asks every running process of a recording for a snapshot, time after time."""

    def __init__(self, follower: Follower) -> None:
        self._follower = follower
        self._asked: dict[int, int] = {}

    def look(self) -> None:
        """Asks each process; one that has not answered yet is left out this time."""
        self._follower.poll()
        for pid, signal_number in self._follower.running.items():
            asked = self._asked.pop(pid, None)
            if asked is None or asked in self._follower.answered:
                self._ask(pid, signal_number)

    def _ask(self, pid: int, signal_number: int) -> None:
        request = new_request()
        try:
            process = open_process(pid)
        except LeaklineError:
            return  # it has ended; the recording says how
        try:
            refuse_unwatched(pid, signal_number)
            ask_periodically(process, signal_number, request)
            self._asked[pid] = request
        except LeaklineError:
            pass  # it is ending, or no longer listens
        finally:
            os.close(process)


class _Demand:
    """One snapshot that is wanted; asked for again while the process is busy."""

    def __init__(self, pid: int, process: int, follower: Follower) -> None:
        self._pid = pid
        self._process = process
        self._follower = follower
        self._signal_number = follower.running.get(pid, DEFAULT_SIGNAL)
        self._requests: set[int] = set()
        refuse_unwatched(pid, self._signal_number)

    def wait(self, progress: Progress, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        ask_at = time.monotonic()
        while not self._answered():
            if time.monotonic() > deadline:
                raise ProgramError(
                    f"process {self._pid} gave no snapshot within {timeout_s:g} "
                    "seconds; it may be stopped or very busy (--timeout allows more)"
                )
            if time.monotonic() >= ask_at:
                self._ask()
                ask_at += _ASK_AGAIN_S
            ended, _, _ = select.select([self._process], [], [], _POLL_S)
            self._follower.poll()
            if ended and not self._answered():
                raise ProgramError(f"process {self._pid} ended without a snapshot")
            progress.update(f"waiting for process {self._pid}", 0, 0)

    def _ask(self) -> None:
        request = new_request()
        self._requests.add(request)
        ask_once(self._process, self._signal_number, request)

    def _answered(self) -> bool:
        return bool(self._requests & self._follower.answered)


def _is_watched(pid: int, signal_number: int) -> bool:
    try:
        refuse_unwatched(pid, signal_number)
    except LeaklineError:
        return False
    return True
