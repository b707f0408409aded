"""Where the runtime is short of something, the program runs as it would have."""

import os
import resource
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from leakline.recording._format import NotSeen, NotSeenRecord, ProcessEndRecord
from leakline.recording.create import create_recording

from .preload import environment, read, run, run_both_ways

LOST_BYTES = 611
MIB = 1 << 20


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_standard_descriptors(closed: str, tmp_path: Path) -> None:
    script = f"ls -l /proc/self/fd {closed} | wc -l; exec true {closed}"
    recorded = run_both_ways(["sh", "-c", script], tmp_path)
    assert len(recorded.of(ProcessEndRecord)) >= 2


def test_no_descriptor_is_seen(tmp_path: Path) -> None:
    script = "import os; print(os.listdir('/proc/self/fd'), os.dup(0))"
    run_both_ways(["/usr/bin/python3", "-c", script], tmp_path)


@pytest.mark.parametrize("limit_mib", [64, 128, 512, 4096])
def test_limited_address_space(limit_mib: int, tmp_path: Path) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (limit_mib * MIB, limit_mib * MIB))

    script = "my @a = map { 'x' x $_ } 1 .. 3000; print length(join '', @a)"
    recorded = run_both_ways(["perl", "-e", script], tmp_path, limit)
    assert len(recorded.of(ProcessEndRecord)) == 1


def test_no_descriptors_left(tmp_path: Path) -> None:
    """Nothing can be written then, and the program does not notice."""
    script = (
        "import os, resource; resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3)); "
        "print(1); os._exit(4)"
    )
    recorded = run_both_ways(["/usr/bin/python3", "-c", script], tmp_path)
    assert recorded.of(ProcessEndRecord) == []


@pytest.mark.parametrize("content", [None, b"", b"something else entirely"])
def test_a_missing_or_foreign_recording_is_left_alone(
    content: bytes | None, tmp_path: Path
) -> None:
    recording = tmp_path / "recording"
    if content is not None:
        recording.write_bytes(content)
    watched = run(["sh", "-c", "echo out; exit 3"], environment(recording))
    assert (watched.status, watched.stdout, watched.stderr) == (3, b"out\n", b"")
    assert (recording.read_bytes() if recording.exists() else None) == content


@pytest.mark.skipif(os.geteuid() != 0, reason="needs rights to give up")
@pytest.mark.parametrize("way", ["setuid", "seteuid", "setresuid", "chroot"])
def test_a_process_that_gives_up_its_rights_still_reports(
    way: str, build: Callable[..., Path], tmp_path: Path
) -> None:
    program = build("process_privileges.c", "-O1")
    recorded = run_both_ways([program, way], tmp_path)
    assert LOST_BYTES in recorded.lost_bytes()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs to run as another user")
def test_a_setuid_program_is_left_alone(
    build: Callable[..., Path], tmp_path: Path
) -> None:
    tmp_path.chmod(0o755)
    for folder in tmp_path.parents:
        if folder.owner() == "root" and folder.name.startswith(("pytest", "popen")):
            folder.chmod(0o755)
    program = tmp_path / "program"
    shutil.copy(build("process_ends.c", "-O1"), program)
    program.chmod(0o4755)
    recording = tmp_path / "recording"
    create_recording(recording)
    done = subprocess.run(
        [program, "return"],
        env=environment(recording),
        user=65534,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (3, b"begins\nreturns\n")
    assert read(recording).records == []


@pytest.mark.parametrize("way", ["prctl", "seccomp"])
@pytest.mark.parametrize("refusal", ["kill", "trap"])
def test_a_sandbox_is_looked_at_before_it_closes(
    refusal: str, way: str, build: Callable[..., Path], tmp_path: Path
) -> None:
    program = build("process_sandbox.c", "-O1")
    recorded = run_both_ways([program, refusal, way], tmp_path)
    assert [gap.reason for gap in recorded.of(NotSeenRecord)] == [NotSeen.SANDBOX]
    assert recorded.lost_bytes() == [911]


@pytest.mark.parametrize("way", ["prctl", "seccomp"])
def test_a_sandbox_that_only_refuses_is_no_harm(
    way: str, build: Callable[..., Path], tmp_path: Path
) -> None:
    run_both_ways([build("process_sandbox.c", "-O1"), "refuse", way], tmp_path)
