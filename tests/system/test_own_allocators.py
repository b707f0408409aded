"""One model file tells both the checker and runs about a program's own allocators."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .command import leakline
from .conftest import PROGRAMS

SOURCE = PROGRAMS / "own_allocator.c"
MODELS = SOURCE.with_suffix(".models")


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The check of the program, given the models."""
    report = tmp_path_factory.mktemp("own") / "check.json"
    options = ("--format", "json", "--report-file", report)
    leakline("check", "--model", MODELS, *options, SOURCE)
    return report


def innermost(findings: list[dict[str, Any]]) -> list[str]:
    """Who allocated, as reports show it."""
    return [one["allocation"]["frames"][0]["function"] for one in findings]


def test_the_checker_believes_the_models_of_functions_it_sees(checked: Path) -> None:
    findings = json.loads(checked.read_text())["findings"]
    assert innermost(findings) == ["not_given_back_bad", "not_freed_bad"]
    advice = [re.findall(r"`(\w+)`", one["advice"]) for one in findings]
    assert advice == [["piece", "pool_give"], ["block", "checked_free"]]


def test_stacks_of_a_run_begin_at_the_callers(
    build: Callable[..., Path], checked: Path, tmp_path: Path
) -> None:
    recording = tmp_path / "run.leakline"
    leakline("run", "-o", recording, "--", build("own_allocator.c", "-O0"))

    def found(*options: str | Path) -> list[dict[str, Any]]:
        done = leakline("report", recording, "--format", "json", *options)
        findings: list[dict[str, Any]] = json.loads(done.stdout)["findings"]
        return findings

    plain = found()
    assert innermost(plain) == ["checked_malloc"]
    shown = found("--model", MODELS)
    assert innermost(shown) == ["not_freed_bad"]
    assert [one["id"] for one in shown] == [one["id"] for one in plain]
    (both, only_checked) = found("--model", MODELS, "--with", checked)
    assert both["engines"] == ["reach", "static"]
    assert only_checked["engines"] == ["static"]


def test_a_bad_model_file_is_refused_before_the_program_runs(tmp_path: Path) -> None:
    models = tmp_path / "bad.models"
    models.write_text("pool_take return heapobj\n")
    done = leakline("run", "--model", models, "--", "echo", "ran")
    assert done.returncode not in (0, 23)
    assert done.stdout == ""
    assert "bad.models:1" in done.stderr
