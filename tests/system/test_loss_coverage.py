"""How many stores of running programs are seen, wherever their libraries lie."""

import re
import subprocess
from pathlib import Path

import pytest

from leakline.recording._format import NotSeen, NotSeenRecord
from leakline.recording.reader import open_recording

from .conftest import LEAKLINE

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
