"""Patched programs behave as they always do."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from benchmarks.commands import COMMANDS, run

from leakline.cli.environment import runtime_library
from leakline.recording.create import create_recording

from .conftest import Outcome
from .test_real_programs import scratch, watching

__all__ = ["scratch"]

PLAIN_RUNS = 3
PATCHED_RUNS = 100


def environment_for(plans: Path, recording: Path) -> dict[str, str]:
    """Return the environment in which `leakline run` starts a program."""
    options = f"recording={recording}:lens=reach,loss:plans={plans}"
    return {
        **os.environ,
        "LD_PRELOAD": runtime_library(os.environ),
        "LEAKLINE_OPTIONS": options,
    }


def plan_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "leakline" / "plans"


def test_threads_exceptions_signals_and_loading_go_on_as_before(
    build: Callable[..., Path], watch: Callable[..., Outcome], tmp_path: Path
) -> None:
    program = build("patch_robustness.cpp", "-O2")
    plain = {
        subprocess.run([program], capture_output=True, check=True).stdout
        for _ in range(PLAIN_RUNS)
    }
    for _ in range(2):
        outcome = watch([program], "--lens", "loss", "--error-exitcode", "0")
    assert not any("patch plan" in text for text in outcome.report["run"]["not_seen"])
    for _ in range(PATCHED_RUNS):
        recording = tmp_path / "recording"
        recording.unlink(missing_ok=True)
        create_recording(recording)
        done = subprocess.run(
            [program],
            env=environment_for(plan_folder(), recording),
            capture_output=True,
            check=False,
            timeout=120,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        assert {done.stdout} == plain


@pytest.mark.parametrize("command", COMMANDS)
def test_output_and_status_are_the_same(command: str, scratch: Path) -> None:
    report = scratch.parent / "report.txt"
    prefix = watching(report, "--lens", "loss")
    plain = run([], command, scratch)
    assert run(prefix, command, scratch) == plain
    if "for the next run" in " ".join(report.read_text().split()):
        # That run made plans of what the command starts, for this one.
        assert run(prefix, command, scratch) == plain
    assert "lenses reach, loss" in report.read_text()


@pytest.mark.parametrize(
    "command",
    [
        # Neither lens has room for its tables there: patches go while sites are armed.
        "sh -c 'ulimit -v 400000; echo $((1 + 1)); exit 3'",
        # Loads libraries, which are patched and then armed.
        "iconv -f LATIN1 -t UTF-16 input.txt | cksum",
    ],
)
def test_both_lenses_that_change_code_go_unnoticed_together(
    command: str, scratch: Path
) -> None:
    report = scratch.parent / "report.txt"
    prefix = watching(report, "--lens", "loss,accesses")
    plain = run([], command, scratch)
    # The first run makes the plans of what the command starts, for the second.
    assert [run(prefix, command, scratch) for _ in range(2)] == [plain, plain]
    assert "lenses reach, loss, accesses" in report.read_text()
    assert "not fit" not in " ".join(report.read_text().split())
