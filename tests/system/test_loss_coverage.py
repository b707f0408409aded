"""How many stores of running programs are seen, wherever their libraries lie."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from leakline.recording._format import NotSeen, NotSeenRecord
from leakline.recording.reader import open_recording

from .conftest import LEAKLINE, Outcome

# gawk is linked at fixed addresses; the others and all libraries can be moved.
COMMANDS = {
    "bash": ["bash", "-c", "echo $((6 * 7))"],
    "gawk": ["gawk", "BEGIN { print 6 * 7 }"],
    "perl": ["perl", "-e", "print 6 * 7"],
    "sqlite3": ["sqlite3", ":memory:", "select 6 * 7"],
}
LEAST_SEEN_PERCENT = {"bash": 99.5, "gawk": 99.0, "perl": 99.5, "sqlite3": 99.5}


def seen_percent(recording: Path) -> float:
    """Return the share of stores that the process of a recording saw."""
    stores = unseen = 0
    with open_recording(recording) as opened:
        for _, record in opened.records():
            if isinstance(record, NotSeenRecord) and record.reason == NotSeen.LOSSES:
                counts = re.match(
                    rb"([\d,]+) of ([\d,]+) stores run unseen", record.text
                )
                assert counts, record.text
                unseen = int(counts[1].replace(b",", b""))
                stores = int(counts[2].replace(b",", b""))
    return 100 - 100 * unseen / max(stores, 1)


@pytest.mark.parametrize("addresses", ["randomised", "fixed"])
@pytest.mark.parametrize("name", COMMANDS)
def test_nearly_all_stores_are_seen(name: str, addresses: str, tmp_path: Path) -> None:
    """Without randomisation, libraries lie at the end of the address space."""
    recording = tmp_path / "recording"
    fixed = ["setarch", "--addr-no-randomize"] if addresses == "fixed" else []
    run: list[str | Path] = [LEAKLINE, "run", "--lens", "loss", "-o", recording]
    run += ["--error-exitcode", "0", "--report-file", tmp_path / "report.txt"]
    done = subprocess.run(
        [*fixed, *run, "--", *COMMANDS[name]],
        capture_output=True,
        check=True,
        timeout=300,
    )
    assert done.stdout.strip() == b"42"
    assert seen_percent(recording) >= LEAST_SEEN_PERCENT[name]


def test_a_library_whose_trampolines_find_no_room_runs_as_it_is(
    build: Callable[..., Path], watch: Callable[..., Outcome]
) -> None:
    """Some have room for one of their two parts only."""
    program = build("patch_crowded.c", "-O2")
    command: list[str | Path] = [program, "libsqlite3.so.0"]
    plain = subprocess.run(command, capture_output=True, check=True, text=True)
    # The first run makes the plan of the library, for the second.
    for _ in range(2):
        outcome = watch(command, "--lens", "loss", "--error-exitcode", "0")
        assert (outcome.returncode, outcome.stdout) == (0, plain.stdout)
    seen = " ".join(outcome.report["run"]["not_seen"])
    assert re.search(r"\d,\d{3} of [\d,]+ stores run unseen", seen)
