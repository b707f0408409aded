"""Libraries that people preload besides the runtime keep doing their work, and so does
the runtime; where it cannot, the report says so."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Outcome

FOLDER = Path("/usr/lib/x86_64-linux-gnu")
ALLOCATOR = FOLDER / "libjemalloc.so.2"
LIBRARIES = (
    ALLOCATOR,
    FOLDER / "faketime/libfaketime.so.1",
    FOLDER / "libeatmydata.so",
)
# Of libfaketime; the others ignore it.
FAKE_TIME = {"FAKETIME": "2001-02-03 04:05:06"}


@pytest.fixture
def leaky(build: Callable[..., Path]) -> Path:
    return build("report_sample.c")


def leaks(outcome: Outcome) -> list[tuple[str, int, int]]:
    return [
        (finding["id"], finding["blocks"], finding["bytes"])
        for finding in outcome.report["findings"]
    ]


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.name)
def test_both_libraries_do_their_work(
    library: Path, leaky: Path, watch: Callable[..., Outcome]
) -> None:
    environment = {"LD_PRELOAD": str(library), **FAKE_TIME}
    command = ["sh", "-c", f"date -u +%Y; {leaky}"]
    unwatched = subprocess.run(
        command,
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **environment},
    )
    outcome = watch(command, env=environment)
    assert (outcome.stdout, outcome.stderr) == (unwatched.stdout, unwatched.stderr)
    alone = leaks(watch([leaky]))
    assert alone
    assert set(alone) <= set(leaks(outcome))  # some versions of date leak, too
    assert outcome.report["run"]["not_seen"] == []


def test_an_allocator_before_the_runtime_is_told(
    leaky: Path, watch: Callable[..., Outcome]
) -> None:
    outcome = watch(["sh", "-c", f'LD_PRELOAD="{ALLOCATOR}:$LD_PRELOAD" {leaky}'])
    assert (outcome.returncode, outcome.stdout) == (0, "ran\n")
    assert leaks(outcome) == []
    (said,) = outcome.report["run"]["not_seen"]
    assert str(leaky) in said
    assert "another allocator than Leakline's serves malloc" in said


def test_a_list_of_preloads_that_replaces_ours_is_told(
    leaky: Path, watch: Callable[..., Outcome]
) -> None:
    outcome = watch(["env", f"LD_PRELOAD={ALLOCATOR}", leaky])
    assert (outcome.returncode, outcome.stdout) == (0, "ran\n")
    (said,) = outcome.report["run"]["not_seen"]
    assert said.startswith(f"{leaky} was not watched")
