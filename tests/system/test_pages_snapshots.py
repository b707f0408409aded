"""Lens `pages` on a program that runs on: periodic looks and snapshots tell what is idle
by then, and the program goes on."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from leakline.recording._format import IdleRecord, TrackingRecord

from .command import Build, leakline
from .conftest import LEAKLINE
from .preload import read
from .test_pages import finding_of
from .test_snapshots import child_of

PATIENCE_S = 120
IDLE_MS = 100
LOOKS = 3


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Where the program's recording will lie."""
    return tmp_path / "recording"


@pytest.fixture
def server(build: Build, recording: Path) -> Iterator[subprocess.Popen[str]]:
    """A program that works until it is ended, looked at all the time."""
    options = ["--lens", "pages", "--every", "0.2", "-o", str(recording)]
    program = [str(build("pages_staleness.c", "-O1")), "1000"]
    with subprocess.Popen(
        [str(LEAKLINE), "run", *options, "--", *program],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        yield process
        process.terminate()
        process.wait(PATIENCE_S)


def wait_for_idle_blocks(recording: Path) -> None:
    """Wait until some looks were made and the last of them told of idle blocks."""
    end = time.monotonic() + PATIENCE_S
    while True:
        assert time.monotonic() < end
        if recording.exists():
            recorded = read(recording)
            longest = [one.longest_ms for one in recorded.of(IdleRecord)]
            if len(recorded.of(TrackingRecord)) >= LOOKS and max(longest) >= IDLE_MS:
                return
        time.sleep(0.1)


def test_a_running_program_tells_what_is_idle(
    server: subprocess.Popen[str], recording: Path
) -> None:
    wait_for_idle_blocks(recording)
    pid = child_of(server)
    words = ("snapshot", str(pid), "--stale-after", "0.05", "--format", "json")
    done = leakline(*words)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    found = finding_of(report, "array_stale")
    assert found["kind"] == "stale"
    assert found["staleness"]["lower_s"] >= 0.05
    assert not any(
        frame["function"].endswith("_in_use")
        for finding in report["findings"]
        for frame in finding["allocation"]["frames"]
    )
    assert "no block was idle for less" in " ".join(report["run"]["remarks"])
    os.kill(pid, signal.SIGTERM)
    assert server.wait(PATIENCE_S) == -signal.SIGTERM
