"""Lens `pages` with the stacks of touches: who used idle memory last."""

import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from leakline.recording._format import TouchStacks, TouchStacksRecord, Tracking
from leakline.recording.create import create_recording

from .command import Build
from .conftest import Outcome
from .hostile_places import IOCTL, USERFAULTFD, refusing
from .preload import environment, read, run_both_ways
from .test_pages import finding_of
from .test_pages_behaviour import states

Watch = Callable[..., Outcome]
Report = dict[str, Any]

OUTPUT = b"512 by code, 12800 by calls\n"
PATIENCE_S = 120


def system_tells_faults() -> bool:
    """Ask the system itself, as the runtime does."""
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.syscall(USERFAULTFD, os.O_CLOEXEC)
    if descriptor >= 0:
        os.close(descriptor)
    return descriptor >= 0 or os.access("/dev/userfaultfd", os.R_OK | os.W_OK)


EXPECTED = TouchStacks.ACTIVE if system_tells_faults() else TouchStacks.REFUSED


@pytest.fixture(scope="module")
def program(build: Build) -> Path:
    return build("pages_touched.c", "-O0", "-pthread")


@pytest.fixture
def report(watch: Watch, program: Path, monkeypatch: pytest.MonkeyPatch) -> Report:
    monkeypatch.setenv("LEAKLINE_OPTIONS", "scan_ms=20")
    words = ("--lens", "pages", "--touches", "--stale-after", "0.1")
    return watch([program], *words).report


def last_users(report: Report, allocating: str) -> list[str]:
    """Return the functions that used what a function allocated last."""
    used = finding_of(report, allocating)["last_access"]
    return [frame["function"] for frame in used["frames"]] if used else []


def test_the_last_users_are_named(report: Report) -> None:
    by_code = last_users(report, "array_for_code")
    by_a_call = last_users(report, "array_for_a_call")
    remarks = " ".join(report["run"]["remarks"])
    if EXPECTED == TouchStacks.ACTIVE:
        assert by_code[:2] == ["used_by_code", "use_once"]
        assert "write" in by_a_call
        assert "used_by_a_call" in by_a_call
        assert "were noted with their call stack" in remarks
    else:
        assert by_code == by_a_call == []
        assert "that takes CAP_SYS_PTRACE" in remarks


def test_a_thread_that_takes_no_signals_does_not_wait_for_one(
    program: Path, tmp_path: Path
) -> None:
    recorded = run_both_ways(
        [program, "blocked"], tmp_path, lens="pages", touch_stacks=1, scan_ms=20
    )
    (record,) = recorded.of(TouchStacksRecord)
    assert record.state == EXPECTED
    if EXPECTED == TouchStacks.ACTIVE:
        assert record.unknown > 0  # of code
        assert record.told > 0  # of calls


@pytest.mark.parametrize("way", ["fork", "threads", "clone", "advise"])
def test_memory_behaves_as_ordinary_memory(
    build: Build, tmp_path: Path, way: str
) -> None:
    behaviour = build("pages_behaviour.c", "-O1")
    run_both_ways([behaviour, way], tmp_path, lens="pages", touch_stacks=1)


# What the kernel refuses. Without the system call there is still the device.
REFUSALS = [
    (IOCTL, TouchStacks.REFUSED),
    (
        USERFAULTFD,
        TouchStacks.ACTIVE
        if os.access("/dev/userfaultfd", os.R_OK | os.W_OK)
        else TouchStacks.REFUSED,
    ),
]


@pytest.mark.parametrize(("number", "state"), REFUSALS)
def test_a_filter_leaves_the_watch_without_stacks(
    program: Path, tmp_path: Path, number: int, state: TouchStacks
) -> None:
    recorded = run_both_ways(
        [program], tmp_path, refusing(number), lens="pages", touch_stacks=1
    )
    (record,) = recorded.of(TouchStacksRecord)
    assert record.state == state
    assert states(recorded) == [Tracking.ACTIVE]


def children_of(pid: int) -> list[int]:
    """Return the processes that have this one as parent, the oldest first."""

    def parent(status: Path) -> int:
        try:
            return int(status.read_text().rpartition(")")[2].split()[1])
        except (OSError, IndexError):
            return 0

    found = [int(one.parent.name) for one in Path("/proc").glob("[0-9]*/stat")]
    return sorted(one for one in found if parent(Path(f"/proc/{one}/stat")) == pid)


def wait_for_children(process: subprocess.Popen[bytes], count: int) -> list[int]:
    """Wait until the runtime has started its processes."""
    end = time.monotonic() + PATIENCE_S
    while len(found := children_of(process.pid)) < count:
        assert process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.01)
    return found


@pytest.fixture
def running(program: Path, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Start the program with stacks of touches; it goes on until it is told to."""
    recording = tmp_path / "recording"
    create_recording(recording)
    env = environment(recording, lens="pages", touch_stacks=1, scan_ms=20)
    with subprocess.Popen(
        [program, "waiting"], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        yield process
        process.kill()


@pytest.mark.parametrize("which", [0, 1])
def test_nobody_waits_for_a_process_that_was_killed(
    running: subprocess.Popen[bytes], tmp_path: Path, which: int
) -> None:
    count = 2 if EXPECTED == TouchStacks.ACTIVE else 1
    helpers = wait_for_children(running, count)
    os.kill(helpers[min(which, count - 1)], signal.SIGKILL)
    output, _ = running.communicate(b"go on\n", PATIENCE_S)
    assert output == OUTPUT
    assert running.returncode == 0
    assert [one.state for one in read(tmp_path / "recording").of(TouchStacksRecord)]
