"""What each look at a running process found beyond the look before it.

For whoever runs inside the process or beside it and wants to know what one piece of its
work lost. The recording is read on from where the last call stopped.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from leakline.dynamic.findings import make_findings
from leakline.dynamic.load import LEAKS, name_addresses
from leakline.dynamic.merge import (
    GroupKey,
    Groups,
    HeapGroup,
    add_snapshot,
    used_stacks,
)
from leakline.dynamic.process_log import ProcessLog, take_record
from leakline.dynamic.stack_table import ProcessStacks, StackTable
from leakline.dynamic.stacks import StackBuilder
from leakline.model.finding import Finding
from leakline.recording.reader import RecordingFile, open_recording

if TYPE_CHECKING:
    from leakline.recording.chunks import ProcessKey


class Looks:
    """The looks at one process, in their order."""

    def __init__(self, recording: RecordingFile, pid: int) -> None:
        self._recording = recording
        self._pid = pid
        self._logs: dict[ProcessKey, ProcessLog] = {}
        self._table = StackTable()
        self._stacks: dict[ProcessKey, ProcessStacks] = {}
        self._before: Groups = {}

    def grown(self) -> tuple[Finding, ...]:
        """What was lost between the last call and the newest complete look."""
        log = self._read_on()
        if log is None or log.latest is None:
            return ()
        now: Groups = {}
        add_snapshot(now, log, log.latest, self._stacks[log.key])
        log.latest.groups.clear()
        more = dict(_growth(self._before, now))
        self._before = now
        frames, _ = name_addresses(self._table, used_stacks(more, more), 0, None)
        return make_findings(more, StackBuilder(self._table, frames))

    def _read_on(self) -> ProcessLog | None:
        """Takes in what was written; the log of the process as it is now.

        A process that became another program by exec begins a new log.
        """
        newest = None
        for writer, record in self._recording.records():
            if writer.process.pid == self._pid:
                newest = self._logs.get(writer.process)
                if newest is None:
                    newest = self._logs[writer.process] = ProcessLog(writer.process)
                    stacks = ProcessStacks(newest, self._table)
                    self._stacks[writer.process] = stacks
                take_record(newest, writer, record)
        return newest


@contextmanager
def open_looks(path: Path, pid: int) -> Iterator[Looks]:
    """Opens a recording to follow one process.

    Raises:
        RecordingError: The file is no recording.
    """
    with open_recording(path) as recording:
        yield Looks(recording, pid)


def _growth(before: Groups, now: Groups) -> Iterator[tuple[GroupKey, HeapGroup]]:
    """The leaks that have more blocks than before, with what has been added."""
    nothing = HeapGroup()
    for key, group in now.items():
        old = before.get(key, nothing)
        if key.kind in LEAKS and group.blocks > old.blocks:
            more = HeapGroup(
                blocks=group.blocks - old.blocks,
                bytes=max(0, group.bytes - old.bytes),
                indirect_blocks=max(0, group.indirect_blocks - old.indirect_blocks),
                indirect_bytes=max(0, group.indirect_bytes - old.indirect_bytes),
                pids=group.pids,
            )
            yield key, more
