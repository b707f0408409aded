"""Where lost references were created, for `--births`."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .conftest import LEAKLINE, PROGRAMS, Outcome, watch_in

MARK = re.compile(r"// birth\((\w+)\)")
PROGRAM = "loss_births.c"
UNSEEN = "where the last reference was created was not seen"


def lost(outcome: Outcome) -> dict[str, dict[str, Any]]:
    """Return the lost findings by the function that allocates."""
    return {
        finding["allocation"]["frames"][0]["function"]: finding
        for finding in outcome.report["findings"]
        if finding["kind"] == "lost"
    }


@pytest.fixture(scope="module", params=["-O0", "-O2"])
def program(request: pytest.FixtureRequest, build: Callable[..., Path]) -> Path:
    return build(PROGRAM, request.param)


def test_the_last_reference_is_told_by_its_line(program: Path, tmp_path: Path) -> None:
    found = lost(watch_in(tmp_path, [program], "--lens", "loss", "--births"))
    lines = (PROGRAMS / PROGRAM).read_text().splitlines()
    marked = {
        mark[1]: number
        for number, line in enumerate(lines, 1)
        if (mark := MARK.search(line))
    }
    born = {
        name: next(
            frame["line"]
            for frame in found[name]["birth"]["frames"]
            if frame["file"].endswith(PROGRAM)
        )
        for name in marked
    }
    assert len(marked) == len(found)
    assert born == marked


def test_the_text_tells_it_between_loss_and_allocation(
    program: Path, tmp_path: Path
) -> None:
    recording = tmp_path / "recording"
    found = lost(watch_in(tmp_path, [program], "--births", "-o", str(recording)))
    text = subprocess.run(
        [LEAKLINE, "report", recording], check=False, capture_output=True, text=True
    ).stdout
    titles = re.findall(
        r"^   .*(lost|created|allocated) here\b.*:$", text, re.MULTILINE
    )
    assert titles == ["lost", "created", "allocated"] * len(found)


def test_without_the_option_there_are_none(program: Path, tmp_path: Path) -> None:
    found = lost(watch_in(tmp_path, [program], "--lens", "loss"))
    assert {finding["birth"] for finding in found.values()} == {None}
    assert not any(UNSEEN in finding["notes"] for finding in found.values())


def test_a_birth_that_was_not_seen_is_called_so(
    build: Callable[..., Path], tmp_path: Path
) -> None:
    program = build("loss_scopes.c", "-O0", "-g0")
    found = lost(watch_in(tmp_path, [program], "--births"))
    kept_by_variable = found["early_return_bad"]
    assert kept_by_variable["birth"] is None
    assert UNSEEN in kept_by_variable["notes"]
    assert UNSEEN not in found["ignored_bad"]["notes"]


def test_a_service_can_be_preloaded_for_births(program: Path, tmp_path: Path) -> None:
    recording = tmp_path / "recording"
    options: list[str | Path] = ["-o", recording, "--births", "--for", "shell"]
    made = subprocess.run(
        [LEAKLINE, "preload", *options, "--program", program],
        check=True,
        capture_output=True,
        text=True,
    )
    command = f"{made.stdout}exec {program}"
    subprocess.run(["sh", "-c", command], check=True, timeout=60)
    done = subprocess.run(
        [LEAKLINE, "report", recording], check=False, capture_output=True, text=True
    )
    assert "that reference was created here:" in done.stdout


def test_a_service_without_a_program_is_refused(tmp_path: Path) -> None:
    recording = tmp_path / "recording"
    done = subprocess.run(
        [LEAKLINE, "preload", "-o", recording, "--births"],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "--program" in done.stderr
    assert not recording.exists()
