"""Programs that run on: snapshots, periodic looks, and who outlives the run."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from .command import Build, leakline
from .conftest import LEAKLINE
from .preload import read


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Where the server's recording will lie."""
    return tmp_path / "server.leakline"


@pytest.fixture
def server(build: Build, recording: Path) -> Iterator[subprocess.Popen[str]]:
    """A `leakline run` of a program that leaks until it is ended."""
    program = str(build("leaking_server.c"))
    options = ["-o", str(recording), "--every", "0.2"]
    command = [str(LEAKLINE), "run", *options, "--", program]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.terminate()


def wait_for_looks(recording: Path, count: int) -> None:
    """Wait until so many looks have found lost blocks."""
    deadline = time.monotonic() + 120
    while len(read(recording).lost_bytes()) < count:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def child_of(process: subprocess.Popen[str]) -> int:
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    return int(children.split()[0])


def test_sigterm_reaches_the_program_and_the_report_still_comes(
    server: subprocess.Popen[str],
) -> None:
    server.terminate()
    _, errors = server.communicate(timeout=120)
    assert server.returncode == -signal.SIGTERM
    assert "leak_in_loop" in errors


def test_a_killed_program_still_has_its_last_periodic_look(
    server: subprocess.Popen[str], recording: Path
) -> None:
    wait_for_looks(recording, 1)
    os.kill(child_of(server), signal.SIGKILL)
    _, errors = server.communicate(timeout=120)
    assert server.returncode == -signal.SIGKILL
    assert "leak_in_loop" in errors
    assert "Not seen:" in errors


def test_a_snapshot_shows_what_a_running_program_lost(
    server: subprocess.Popen[str],
) -> None:
    pid = child_of(server)
    for _ in range(3):
        done = leakline("snapshot", str(pid))
        assert done.returncode == 0, done.stderr
        assert "leak_in_loop" in done.stdout
    assert server.poll() is None


def test_the_heap_over_time_is_in_the_report(
    server: subprocess.Popen[str], recording: Path
) -> None:
    wait_for_looks(recording, 2)
    done = leakline("snapshot", str(child_of(server)), "--format", "json")
    (process,) = json.loads(done.stdout)["run"]["processes"]
    moments = process["timeline"]
    assert len(moments) >= 2
    assert [one["at_s"] for one in moments] == sorted(one["at_s"] for one in moments)
    assert moments[-1]["lost_bytes"] > moments[0]["lost_bytes"]
    assert moments[-1]["live_bytes"] == process["live_bytes"]


def test_only_watched_processes_are_asked_for_snapshots() -> None:
    with subprocess.Popen(["sleep", "60"]) as bystander:
        done = leakline("snapshot", str(bystander.pid))
        assert bystander.poll() is None
        bystander.kill()
    assert done.returncode == 3
    assert "is not watched; start it with `leakline run`" in done.stderr


def test_processes_that_outlive_the_program_keep_the_recording(
    build: Build, tmp_path: Path
) -> None:
    server = build("leaking_server.c")
    script = f"'{server}' > '{tmp_path}/out' 2>&1 & echo $!"
    done = leakline("run", "--", "sh", "-c", script, env={"TMPDIR": str(tmp_path)})
    pid = int(done.stdout)
    try:
        assert f"Still running when this report was made: {pid}." in done.stderr
        assert leakline("snapshot", str(pid)).returncode == 0
    finally:
        os.kill(pid, signal.SIGKILL)
