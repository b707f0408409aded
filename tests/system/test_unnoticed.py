"""`leakline run` is not to be noticed: not by the program, not by those around it."""

import contextlib
import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .command import Build, leakline, plain
from .conftest import LEAKLINE

STATE = """
import os, signal, sys
print(sys.argv[1:], os.getcwd(), oct(os.umask(0)), os.getpgrp() == os.getpgid(os.getppid()))
print(sorted(os.listdir("/proc/self/fd"))[:4], "LC_CTYPE" in os.environ)
"""


@pytest.fixture
def leaky(build: Build) -> Path:
    return build("report_sample.c")


def test_a_program_starts_in_the_state_it_would_have_had() -> None:
    script = [sys.executable, "-c", STATE, "a b", ""]
    watched = leakline("run", "--report-file", "/dev/null", "--", *script)
    assert watched.stdout == plain(*script).stdout


def test_no_signal_is_ignored_or_blocked_that_was_not() -> None:
    command = ["grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"]
    watched = leakline("run", "--report-file", "/dev/null", "--", *command)
    assert watched.stdout == plain(*command).stdout


def test_the_first_argument_is_the_name_as_given() -> None:
    script = ["sh", "-c", "tr '\\0' '\\n' < /proc/$$/cmdline | head -1"]
    watched = leakline("run", "--report-file", "/dev/null", "--", *script)
    assert watched.stdout == "sh\n"


@pytest.mark.parametrize("closed", ["2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_trouble(
    leaky: Path, closed: str, tmp_path: Path
) -> None:
    report = tmp_path / "report"
    command = f"'{LEAKLINE}' run --report-file '{report}' -- '{leaky}' {closed}"
    assert subprocess.run(["sh", "-c", command], check=False).returncode == 23
    assert "make_item" in report.read_text()
    command = f"'{LEAKLINE}' run -- '{leaky}' {closed}"
    assert subprocess.run(["sh", "-c", command], check=False).returncode == 23


def test_the_reader_of_the_output_learns_of_its_end_at_once() -> None:
    script = "echo ran; exec >&- 3>&-; exec sleep 120"
    extra, extra_end = os.pipe()
    with subprocess.Popen(
        [LEAKLINE, "run", "--", "sh", "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        pass_fds=[extra_end],
    ) as process:
        os.close(extra_end)
        assert process.stdout is not None
        assert process.stdout.read() == b"ran\n"
        assert process.poll() is None
        process.terminate()
    os.close(extra)


def test_the_writer_of_the_input_learns_of_its_end_at_once() -> None:
    script = "exec <&-; echo closed; exec sleep 120"
    with subprocess.Popen(
        [LEAKLINE, "run", "--", "sh", "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        with pytest.raises(BrokenPipeError):
            write_for_ever(process.stdin.fileno())
        assert process.poll() is None
        process.terminate()


def write_for_ever(descriptor: int) -> None:
    """Fills a pipe whose reader may still be about to close it."""
    os.set_blocking(descriptor, False)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with contextlib.suppress(BlockingIOError):
            os.write(descriptor, b"x")
        time.sleep(0.05)


def test_a_removed_folder_is_no_trouble(leaky: Path, tmp_path: Path) -> None:
    script = f"mkdir gone; cd gone; rmdir ../gone; '{LEAKLINE}' run '{leaky}'"
    done = subprocess.run(
        ["sh", "-c", script], check=False, capture_output=True, text=True, cwd=tmp_path
    )
    assert (done.returncode, done.stdout) == (23, "ran\n")
    assert done.stderr.startswith("Leakline  2 leaks")
    named = script.replace(" run ", " run -o recording ").replace("gone", "lost")
    done = plain("sh", "-c", f"cd '{tmp_path}'; {named}")
    assert (done.returncode, done.stdout) == (2, "")
    assert "relative to a folder that was removed" in done.stderr


def test_a_caller_that_ignores_the_end_of_children_is_no_trouble(leaky: Path) -> None:
    command = f"trap '' CHLD; exec '{LEAKLINE}' run --report-file /dev/null '{leaky}'"
    assert subprocess.run(["sh", "-c", command], check=False).returncode == 23


def test_ctrl_c_reaches_the_program_once_and_the_report_still_comes(
    build: Build, tmp_path: Path
) -> None:
    report = tmp_path / "report"
    program = str(build("counts_interrupts.c"))
    command = ["leakline", "run", "--report-file", str(report), "--", program]
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(LEAKLINE, command)  # noqa: S606 (no shell between)
    output = read_until(terminal, b"ready")
    os.write(terminal, b"\x03")
    output += read_until(terminal, b"end")
    _, status = os.waitpid(pid, 0)
    assert b"interrupts: 1\r\n" in output
    assert os.waitstatus_to_exitcode(status) == 0
    assert "Checking was active" in report.read_text()


def read_until(terminal: int, word: bytes) -> bytes:
    output = b""
    deadline = time.monotonic() + 120
    while word not in output and time.monotonic() < deadline:
        if select.select([terminal], [], [], 1)[0]:
            output += os.read(terminal, 1024)
    assert word in output
    return output


def test_a_program_waits_little_for_its_watcher() -> None:
    """No longer than for four bare starts of Python, in CPU time."""
    script = ["sh", "-c", "read cpu rest < /proc/$PPID/schedstat; echo $cpu"]
    options = ["--report-file", "/dev/null"]
    start = f"import subprocess; subprocess.run({script})"
    pairs = [
        (
            int(leakline("run", *options, "--", *script).stdout),
            int(plain(sys.executable, "-I", "-c", start).stdout),
        )
        for _ in range(5)
    ]
    assert min(watched for watched, _ in pairs) < 4 * min(bare for _, bare in pairs)


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGTERM, signal.SIGKILL])
def test_a_program_that_dies_of_a_signal_takes_the_command_with_it(
    leaky: Path, number: signal.Signals
) -> None:
    done = leakline("run", "--", leaky, "signal", str(int(number)))
    assert done.returncode == -number
    assert "Leakline  " in done.stderr


def test_a_program_that_removes_its_recording_keeps_its_own_result(
    tmp_path: Path,
) -> None:
    for code, expected in ((0, 4), (3, 3)):
        script = f"rm -rf '{tmp_path}'/*; echo ran; exit {code}"
        done = leakline("run", "--", "sh", "-c", script, env={"TMPDIR": str(tmp_path)})
        assert (done.returncode, done.stdout) == (expected, "ran\n")
        assert done.stderr.startswith("leakline: the recording ")
