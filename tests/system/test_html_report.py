"""`--format html` on a real program."""

import json
from pathlib import Path
from typing import Any

import pytest

from .command import Build, leakline
from .conftest import PROGRAMS


@pytest.fixture
def leaky(build: Build) -> Path:
    return build("report_sample.c")


def _data(page: str) -> dict[str, Any]:
    before, _, rest = page.partition('id="data">')
    assert before
    data: dict[str, Any] = json.loads(rest.partition("</script>")[0])
    return data


def test_a_run_writes_a_page_with_its_leaks_and_their_source(
    leaky: Path, tmp_path: Path
) -> None:
    page = tmp_path / "leaks.html"
    done = leakline("run", "--format", "html", "--report-file", page, "--", leaky)
    assert done.returncode == 23
    assert done.stderr == ""
    data = _data(page.read_text())
    assert len(data["findings"]) == 2
    assert "malloc(sizeof *item)" in json.dumps(data["sources"])


def test_the_same_recording_gives_the_same_page(leaky: Path, tmp_path: Path) -> None:
    recording = tmp_path / "recording"
    leakline("run", "-o", recording, "--", leaky)
    first = leakline("report", recording, "--format", "html")
    second = leakline("report", recording, "--format", "html")
    assert first.returncode == 0
    assert first.stdout.startswith("<!DOCTYPE html>")
    assert first.stdout == second.stdout


def test_a_page_to_give_away_has_no_source_and_no_private_paths(
    leaky: Path, tmp_path: Path
) -> None:
    page = tmp_path / "leaks.html"
    options = [f"--strip-path={PROGRAMS}", f"--strip-path={leaky.parent}"]
    options += ["--format=html", "--no-source", f"--report-file={page}"]
    leakline("run", *options, "--", leaky)
    text = page.read_text()
    assert "malloc(sizeof *item)" not in text
    assert str(PROGRAMS) not in text
    assert str(leaky.parent) not in text
    assert '"report_sample.c"' in text


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--strip-path=/"], "name a folder"),
        (["--format=html", "--strip-path="], "name a folder"),
    ],
)
def test_options_that_cannot_be_meant_are_refused(
    options: list[str], complaint: str
) -> None:
    done = leakline("run", *options, "--", "true")
    assert done.returncode == 2
    assert complaint in done.stderr
