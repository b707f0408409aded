"""Runs programs with the runtime preloaded and nothing else, and reads what it wrote.

`leakline run` stands between the test and the program; here the program's own wait
status, output and descriptors are compared with those of a run without the runtime.
"""

import os
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from leakline.cli.environment import runtime_library
from leakline.recording._format import Group, GroupRecord, Record
from leakline.recording.create import create_recording
from leakline.recording.reader import Writer, open_recording

R = TypeVar("R")


@dataclass(frozen=True)
class Ended:
    """How a program ended, and what it printed."""

    status: int
    stdout: bytes
    stderr: bytes


@dataclass(frozen=True)
class Recorded:
    """The records that a run left, with their writers."""

    records: list[tuple[Writer, Record]]
    damage: str

    def of(self, kind: type[R]) -> list[R]:
        """Return the records of one kind."""
        return [record for _, record in self.records if isinstance(record, kind)]

    def lost_bytes(self) -> list[int]:
        """Return the bytes of each lost group."""
        return [
            group.bytes for group in self.of(GroupRecord) if group.kind == Group.LOST
        ]


def environment(recording: Path, **options: object) -> dict[str, str]:
    """Return an environment that preloads the runtime."""
    settings: dict[str, object] = {"recording": recording, **options}
    text = ":".join(f"{key}={value}" for key, value in settings.items())
    return {
        **os.environ,
        "LD_PRELOAD": runtime_library(os.environ),
        "LEAKLINE_OPTIONS": text,
    }


def run(
    command: Sequence[str | Path],
    env: Mapping[str, str],
    before: Callable[[], None] | None = None,
    timeout_s: float = 120,
) -> Ended:
    """Run a program; its wait status is kept as the kernel gave it."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(
            command,
            env=env,
            stdout=out,
            stderr=err,
            preexec_fn=before,  # noqa: PLW1509 - the tests start no threads
        )
        try:
            process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
        out.seek(0)
        err.seek(0)
        return Ended(process.returncode, out.read(), err.read())


def read(recording: Path) -> Recorded:
    """Read all records of a recording."""
    with open_recording(recording) as file:
        return Recorded(list(file.records()), str(file.damage))


def run_both_ways(
    command: Sequence[str | Path],
    folder: Path,
    before: Callable[[], None] | None = None,
    **options: object,
) -> Recorded:
    """Run a program with and without the runtime and compare what can be seen."""
    recording = folder / "recording"
    create_recording(recording)
    native = run(command, os.environ, before)
    watched = run(command, environment(recording, **options), before)
    assert watched == native
    return read(recording)
