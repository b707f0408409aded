"""A recording that was made to harm whoever reads it.

It names files that hang or flood their reader and holds escape sequences wherever it
holds text. Reading must end, print nothing that steers a terminal and leave all files
alone.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from leakline.recording._format import (
    ExecRecord,
    GroupRecord,
    HeapTotalsRecord,
    ModuleRecord,
    NodeRecord,
    NotSeenRecord,
    OptionRecord,
    ProcessStartRecord,
    Record,
    SnapshotBeginRecord,
    SnapshotEndRecord,
    SpawnRecord,
    SuppressionsRecord,
)
from leakline.recording.chunks import ProcessKey
from leakline.recording.encode import encode_chunk, encode_file_header

ESCAPES = b"\x1b]0;owned\x07\x9b2J\xff\n$(touch owned)`touch owned`"


def hostile_records(module: bytes) -> list[Record]:
    return [
        ProcessStartRecord(7, 1, 0, 0, 0, module + b"\0" + ESCAPES),
        OptionRecord(b"lens=" + ESCAPES),
        NotSeenRecord(1, 0, ESCAPES),
        SuppressionsRecord(ESCAPES),
        SpawnRecord(8, 0, module),
        SnapshotBeginRecord(1, 1, 0, 1, 0, 0, 0, 0),
        ModuleRecord(1, 0, 0, 0, 2**64 - 1, 20, 0, bytes(20) + module),
        NodeRecord(1, 0, 0x1000, 1, 0, 0),
        NodeRecord(2, 1, 0x2000, 1, 0, 0),
        GroupRecord(1, 2, 0, 0, 0, 0, 2**63, 2**63, 2**63, 2**63, 0),
        GroupRecord(2, 2, 9, 0, 0, 0, 1, 1, 0, 0, 0),
        GroupRecord(99, 77, 0, 0, 0, 0, 1, 1, 0, 0, 0),
        HeapTotalsRecord(*[2**64 - 1] * len(HeapTotalsRecord._fields)),
        SnapshotEndRecord(1, 3),
        ExecRecord(module),
    ]


@pytest.mark.parametrize("kind", ["pipe.c", "/dev/zero", "/dev/tty", "escapes", "loop"])
@pytest.mark.parametrize("output", ["text", "json"])
def test_reading_ends_and_prints_only_plain_text(
    kind: str, output: str, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe.c")
    (tmp_path / "loop").symlink_to("loop")
    module = ESCAPES if kind == "escapes" else os.fsencode(tmp_path / kind)
    recording = tmp_path / "recording"
    chunk = encode_chunk(ProcessKey(7, 1), 0, hostile_records(module))
    recording.write_bytes(encode_file_header() + chunk)
    before = sorted(tmp_path.iterdir())
    options = ["--format", output, "--show", "all"]
    done = subprocess.run(
        [sys.executable, "-m", "leakline", "report", *options, str(recording)],
        check=False,
        capture_output=True,
        timeout=120,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    printed = done.stdout.decode()
    assert printed.replace("\n", "").isprintable()
    assert "indirectly lost" in printed
    assert sorted(tmp_path.iterdir()) == before
