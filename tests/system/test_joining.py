"""A run and a check of the same program, joined and explained."""

import json
import subprocess
from pathlib import Path

import pytest

from .command import leakline
from .conftest import PROGRAMS

STATEMENTS = PROGRAMS / "joined_statements.c"
EXAMPLE = Path(__file__).parents[2] / "examples/inventory/inventory.c"


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """The recording of a run and the JSON report of a check."""
    folder = tmp_path_factory.mktemp("joined")
    program = folder / "inventory"
    subprocess.run(["gcc", "-g", "-O2", EXAMPLE, "-o", program], check=True)
    run, check = folder / "run.leakline", folder / "check.json"
    leakline("run", "-o", run, "--", program)
    leakline("check", "--format", "json", "--report-file", check, EXAMPLE)
    return str(run), str(check)


def test_a_leak_that_both_found_is_one(reports: tuple[str, str]) -> None:
    done = leakline("report", *reports, "--format", "json")
    findings = json.loads(done.stdout)["findings"]
    both = [one for one in findings if {"reach", "static"} <= set(one["engines"])]
    assert [(one["bytes"], one["loss"]["slot"]) for one in both] == [
        (64, "name"),
        (64, "name"),
    ]
    assert all(one["path"] for one in both)
    assert not [one for one in findings if one["engines"] == ["static"]]
    with_ = leakline("report", reports[0], "--with", reports[1], "--format", "json")
    assert with_.stdout == done.stdout


@pytest.fixture(scope="module")
def checked_statements(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The check of allocations that span lines."""
    check = tmp_path_factory.mktemp("statements") / "check.json"
    leakline("check", "--format", "json", "--report-file", check, STATEMENTS)
    return check


@pytest.mark.parametrize(
    "compiler", [("gcc", "-O0"), ("gcc", "-O2"), ("clang-19", "-O2")]
)
def test_statements_of_several_lines_are_joined(
    compiler: tuple[str, str], checked_statements: Path, tmp_path: Path
) -> None:
    program, report = tmp_path / "program", tmp_path / "report.json"
    words = (*compiler, "-g", "-D_GNU_SOURCE", STATEMENTS, "-o", program)
    subprocess.run(words, check=True)
    options = ("--with", checked_statements, "--format", "json")
    leakline("run", *options, "--report-file", report, "--", program)
    findings = json.loads(report.read_text())["findings"]
    assert [one["engines"] for one in findings] == [["reach", "static"]] * 7


def test_the_story_names_variable_and_line(reports: tuple[str, str]) -> None:
    findings = json.loads(leakline("report", *reports, "--format", "json").stdout)
    both = next(one for one in findings["findings"] if one["path"])
    told = leakline("explain", both["id"], *reports)
    assert told.returncode == 0, told.stderr
    assert "Release `name` with `free` before line 34." in told.stdout
    assert "confirmed by both" in told.stdout


def test_a_finding_that_is_not_there_is_refused(reports: tuple[str, str]) -> None:
    done = leakline("explain", "99", reports[0])
    assert done.returncode == 2
    assert done.stderr.startswith("leakline: there is no finding '99' in ")


@pytest.mark.parametrize("name", ["text", "html", "sarif", "junit", "github", "json"])
def test_private_paths_are_in_no_report_of_a_check(
    reports: tuple[str, str], name: str
) -> None:
    prefix = str(EXAMPLE.parents[2])
    options = ("--strip-path", prefix, "--no-source", "--format", name)
    for command in (("report", reports[1]), ("check", str(EXAMPLE))):
        done = leakline(*command, *options, cwd=Path("/"))
        assert "inventory.c" in done.stdout
        assert prefix not in done.stdout
        assert "// leaks `name`" not in done.stdout
