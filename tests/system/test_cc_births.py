"""What `leakline cc --births` compiles tells where references in memory were created."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .compiled import compile_file
from .conftest import PROGRAMS, Outcome

PROGRAM = PROGRAMS / "cc_births.c"
MARK = re.compile(r"// birth\((\w+)\)")


@pytest.fixture(scope="module", params=["-O0", "-O2"])
def program(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    target = tmp_path_factory.mktemp("births") / "program"
    return compile_file(PROGRAM, target, request.param, "--births")


def marked_births() -> dict[str, int]:
    """Return the marked lines by the allocating function."""
    return {
        mark[1]: number + line.lstrip().startswith("//")
        for number, line in enumerate(PROGRAM.read_text().splitlines(), 1)
        if (mark := MARK.search(line))
    }


def lost(outcome: Outcome) -> dict[str, dict[str, Any]]:
    """Return the lost findings by the function that allocates."""
    return {
        finding["allocation"]["frames"][0]["function"]: finding
        for finding in outcome.report["findings"]
        if finding["kind"] == "lost"
    }


def own_line(stack: dict[str, Any] | None) -> int:
    """Return the innermost line of the program; a copy is made in the C library."""
    frames = stack["frames"] if stack else []
    own = [frame["line"] for frame in frames if frame["file"].endswith(PROGRAM.name)]
    return own[0] if own else 0


def test_every_birth_in_memory_is_told(
    program: Path, watch: Callable[..., Outcome]
) -> None:
    found = lost(watch([program], "--births"))
    births = {name: own_line(finding["birth"]) for name, finding in found.items()}
    assert births == marked_births()


def test_the_callers_of_a_birth_are_told(
    program: Path, watch: Callable[..., Outcome]
) -> None:
    birth = lost(watch([program], "--births"))["in_callee_bad"]["birth"]
    functions = [frame["function"] for frame in birth["frames"]]
    assert functions[:3] == ["fill", "callee", "main"]


def test_without_the_option_losses_are_told_all_the_same(
    program: Path, watch: Callable[..., Outcome]
) -> None:
    found = lost(watch([program], "--lens", "loss"))
    assert found.keys() == marked_births().keys()
    assert {finding["loss"]["precision"] for finding in found.values()} == {"exact"}
    births = {name: own_line(finding["birth"]) for name, finding in found.items()}
    known = marked_births()["in_variable_bad"]
    assert births == dict.fromkeys(births, 0) | {"in_variable_bad": known}


def test_the_program_runs_unwatched(program: Path) -> None:
    subprocess.run([program], check=True, timeout=60)
