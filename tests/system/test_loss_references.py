"""`--references`: who still refers to blocks that are never freed, and since where."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from .conftest import PROGRAMS, Outcome, watch_in

MARK = re.compile(r"// holds\((\w+)\): (\S+)")
PROGRAM = "loss_references.c"


class Holder(NamedTuple):
    slot: str
    line: int


def expected() -> dict[str, Holder]:
    """Return a marked slot and line for each function that allocates."""
    lines = (PROGRAMS / PROGRAM).read_text().splitlines()
    return {
        mark[1]: Holder(mark[2], number)
        for number, line in enumerate(lines, 1)
        if (mark := MARK.search(line))
    }


def references(outcome: Outcome) -> dict[str, list[dict[str, Any]]]:
    """Return the references of the findings by the function that allocates."""
    return {
        finding["allocation"]["frames"][0]["function"]: finding["references"]
        for finding in outcome.report["findings"]
        if finding["kind"] == "reachable"
    }


@pytest.mark.parametrize("optimisation", ["-O0", "-O2"])
def test_slots_are_named_with_their_births(
    optimisation: str, build: Callable[..., Path], tmp_path: Path
) -> None:
    program = build(PROGRAM, optimisation)
    found = references(watch_in(tmp_path, [program], "--references", "--births"))
    assert set(found) == set(expected())
    for name, (slot, line) in expected().items():
        (held,) = [one for one in found[name] if one["slot"] == slot]
        # Of two stores that the compiler joined, one line is left.
        lines = {one["birth"]["frames"][0]["line"] for one in found[name]}
        assert line in lines or optimisation == "-O2", name
        assert held["birth"]["frames"][0]["file"].endswith(PROGRAM), name


def test_all_slots_are_counted(build: Callable[..., Path], tmp_path: Path) -> None:
    found = references(
        watch_in(tmp_path, [build(PROGRAM, "-O0")], "--references", "--lens", "reach")
    )
    slots = {name: [one["slots"] for one in held] for name, held in found.items()}
    assert slots == {
        "new_entry_ok": [100],
        "new_text_ok": [5],
        "new_item_ok": [4, 1],
    }
    (in_items,) = found["new_text_ok"]
    assert (in_items["offset"], in_items["slot"]) == (8, None)
    assert in_items["holder"]["frames"][0]["function"] == "new_item_ok"


def test_nobody_is_asked_without_the_option(
    build: Callable[..., Path], tmp_path: Path
) -> None:
    found = references(watch_in(tmp_path, [build(PROGRAM, "-O0")], "--show", "all"))
    assert list(found.values()) == [None] * len(expected())
