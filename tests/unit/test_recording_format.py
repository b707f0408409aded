import subprocess
import sys
from pathlib import Path

import pytest

from leakline.recording import versions
from leakline.recording._format import (
    CHUNK_MAGIC,
    FILE_MAGIC,
    OPTIONS,
    VERSION,
    NodeRecord,
)
from leakline.recording.chunks import Chunk, ProcessKey
from leakline.recording.encode import encode_chunk, encode_file_header
from leakline.recording.reader import open_recording

ROOT = Path(__file__).resolve().parents[2]


def test_the_generated_layouts_are_up_to_date() -> None:
    tool = ROOT / "tools" / "generate_format.py"
    done = subprocess.run(
        [sys.executable, str(tool), "--check"], check=False, capture_output=True
    )
    assert done.returncode == 0, done.stderr.decode()


def test_magics_read_as_text() -> None:
    assert FILE_MAGIC.to_bytes(8, "little") == b"leakline"
    assert CHUNK_MAGIC.to_bytes(4, "little") == b"LLCK"


def test_defaults_of_options_have_the_right_types() -> None:
    assert OPTIONS["depth"].default == 64
    assert OPTIONS["lens"].default == "reach"
    assert OPTIONS["children"].default is True
    assert all(isinstance(one.default, one.kind) for one in OPTIONS.values())


def test_each_older_version_has_an_upgrade() -> None:
    assert len(versions.UPGRADES) == VERSION - 1


def test_old_chunks_are_upgraded_step_by_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A recording of this version, read by a reader two versions ahead."""
    steps = []

    def step(name: str, chunk: Chunk) -> Chunk:
        steps.append(name)
        return chunk

    upgrades = tuple(lambda chunk, name=name: step(name, chunk) for name in "ab")
    monkeypatch.setattr(versions, "UPGRADES", upgrades)
    path = tmp_path / "recording"
    chunk = encode_chunk(ProcessKey(1, 1), 0, [NodeRecord(1, 0, 2, 0, 0, 0)])
    path.write_bytes(encode_file_header() + chunk)
    with open_recording(path) as recording:
        assert len(list(recording.records())) == 1
    assert steps == ["a", "b"]
