"""Blocks that only variables held: the function and variable are read from the code."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from .conftest import PROGRAMS, Outcome

MARK = re.compile(r"// loss\((\w+)\): ([\w-]+) (\w+) (\S+)")
BIRTH = re.compile(r"// birth\((\w+)\)")
PROGRAM = "loss_scopes.c"


class Expected(NamedTuple):
    line: int
    cause: str
    function: str
    variable: str | None


def expected() -> dict[str, Expected]:
    """Return the marked losses by the function that allocates."""
    found = {}
    lines = (PROGRAMS / PROGRAM).read_text().splitlines()
    for number, line in enumerate(lines, 1):
        if mark := MARK.search(line):
            variable = None if mark[4] == "-" else mark[4]
            found[mark[1]] = Expected(number, mark[2], mark[3], variable)
    return found


def losses(outcome: Outcome) -> dict[str, dict[str, Any]]:
    """Return the losses of the report by the marked function that allocates."""
    names = expected()
    return {
        frame["function"]: finding["loss"]
        for finding in outcome.report["findings"]
        for frame in finding["allocation"]["frames"]
        if finding["kind"] == "lost" and frame["function"] in names
    }


def births(outcome: Outcome) -> dict[str, int | None]:
    """Return the lines of births by the marked function that allocates."""
    return {
        frame["function"]: finding["birth"] and finding["birth"]["frames"][0]["line"]
        for finding in outcome.report["findings"]
        for frame in finding["allocation"]["frames"]
        if finding["kind"] == "lost" and frame["function"] in expected()
    }


def expected_births() -> dict[str, int | None]:
    """Return the marked lines; a result that nobody kept has none."""
    lines = (PROGRAMS / PROGRAM).read_text().splitlines()
    found = {
        mark[1]: number
        for number, line in enumerate(lines, 1)
        if (mark := BIRTH.search(line))
    }
    return dict.fromkeys(expected()) | found


@pytest.mark.parametrize("optimisation", ["-O0", "-O1", "-O2", "-O3"])
def test_function_and_variable_are_named(
    optimisation: str, build: Callable[..., Path], watch: Callable[..., Outcome]
) -> None:
    outcome = watch([build(PROGRAM, optimisation)], "--lens", "loss")
    assert births(outcome) == expected_births()
    found = losses(outcome)
    assert set(found) == set(expected())
    for name, wanted in expected().items():
        loss = found[name]
        here, caller = loss["frames"][:2]
        seen = (loss["cause"], here["function"], loss["slot"])
        assert seen == wanted[1:], name
        assert caller["line"] > 0
        if loss["cause"] == "never-stored":
            assert (here["line"], loss["precision"]) == (wanted.line, "exact")
        else:
            assert (here["line"], loss["precision"]) == (0, "probable")


def test_without_debug_information_the_function_is_named(
    build: Callable[..., Path], watch: Callable[..., Outcome]
) -> None:
    found = losses(watch([build(PROGRAM, "-O2", "-g0")], "--lens", "loss"))
    early = found["early_return_bad"]
    assert (early["cause"], early["slot"]) == ("out-of-scope", None)
    assert early["frames"][0]["function"] == "parse"
    assert early["precision"] == "probable"
