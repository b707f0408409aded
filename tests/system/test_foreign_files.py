"""Files that are no recordings, reports, baselines or suppressions: one clear error."""

import json
import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from .command import Build, leakline

HUGE_BYTES = 20 << 30
VALID: dict[str, object] = {
    "schema": "leakline/1",
    "run": {"command": [], "exit_code": 0, "lenses": {}, "not_seen": []},
    "findings": [],
    "totals": {},
    "suppressed": [],
    "unused_suppressions": [],
}


def sparse(path: Path, start: bytes) -> None:
    path.write_bytes(start)
    os.truncate(path, HUGE_BYTES)


def strange_report(**changes: object) -> bytes:
    return json.dumps(VALID | changes).encode()


FOREIGN: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "noise": lambda path: path.write_bytes(random.Random(7).randbytes(5000)),  # noqa: S311 (no secret)
    "a program": lambda path: path.write_bytes(Path("/bin/true").read_bytes()),
    "a folder": lambda path: path.mkdir(),
    "nothing": lambda path: path,
    "a brace": lambda path: path.write_bytes(b"{"),
    "other json": lambda path: path.write_bytes(b'{"findings": {}}'),
    "a list": lambda path: path.write_bytes(b"[1, 2]"),
    "deep json": lambda path: path.write_bytes(b'{"a":' * 100_000),
    "not utf-8": lambda path: path.write_bytes(b'{"\xff\xfe": 1}'),
    "huge json": lambda path: sparse(path, b'{"schema": "leakline/1"'),
    "huge zeros": lambda path: sparse(path, b""),
    "nan": lambda path: path.write_bytes(
        strange_report(findings=[{"drag_byte_s": float("nan")}])
    ),
    "a cut report": lambda path: path.write_bytes(strange_report()[:-9]),
    "findings that are none": lambda path: path.write_bytes(
        strange_report(findings=[1, None, "x"])
    ),
    "a run that is none": lambda path: path.write_bytes(strange_report(run=[])),
}
WAYS: dict[str, Callable[[Path, Path], tuple[str | Path, ...]]] = {
    "explain": lambda path, _: ("explain", "1", path),
    "diff": lambda path, _: ("diff", path, path),
    "with": lambda path, prog: ("run", "--with", path, "--", prog),
    "baseline": lambda path, prog: ("run", "--baseline", path, "--", prog),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_readers_say_in_one_line_what_is_wrong(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "strange"
    FOREIGN[kind](path)
    refused("report", path)


@pytest.mark.parametrize("kind", ["a folder", "other json", "huge json"])
@pytest.mark.parametrize("way", WAYS)
def test_every_command_says_it(way: str, kind: str, tmp_path: Path) -> None:
    path = tmp_path / "strange"
    FOREIGN[kind](path)
    refused(*WAYS[way](path, Path("true")))


def refused(*words: str | Path) -> None:
    done = leakline(*words)
    assert done.returncode in (2, 4, 5), done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("leakline: ")
    assert len(done.stderr.splitlines()) == 1
    assert "strange" in done.stderr
    assert len(done.stderr) < 500


def test_a_recording_cut_anywhere_is_read_or_refused(
    build: Build, tmp_path: Path
) -> None:
    whole = tmp_path / "whole.leakline"
    leakline("run", "-o", whole, "--", build("report_sample.c"))
    content = whole.read_bytes()
    for part in range(8):
        cut = tmp_path / "strange"
        cut.write_bytes(content[: len(content) * part // 8])
        done = leakline("report", cut)
        if done.returncode == 0:
            assert "Not seen:" in done.stdout
        else:
            refused("report", cut)
