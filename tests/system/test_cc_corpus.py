"""The corpus of all lenses, compiled by `leakline cc`: verdicts, and exact losses."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .compiled import compile_file
from .conftest import PROGRAMS, Outcome
from .test_cc import losses_without_callers

MARK = re.compile(r"// loss\((\w+)\): ([\w-]+)")
VERDICT = re.compile(r"\b(\w+_(?:bad|ok))\(")
PROGRAMS_WITH_VERDICTS = (
    "loss_births.c",
    "loss_causes.cpp",
    "loss_cleared.c",
    "loss_memory.c",
    "loss_scopes.c",
    "reach_allocation_functions.c",
    "reach_containers.c",
    "reach_cpp.cpp",
    "reach_dead_slots.c",
    "reach_references.c",
    "reach_threads.c",
)
# In an optimised program the register of an ended variable may keep what it held.
PROGRAMS_WITHOUT_OPTIMISATION = ("dead_scopes.c",)
CASES = [
    *((name, level) for name in PROGRAMS_WITH_VERDICTS for level in ("-O0", "-O2")),
    *((name, "-O0") for name in PROGRAMS_WITHOUT_OPTIMISATION),
]
# What optimisation changes, by program: verdicts that do not hold, each with its reason.
EXCEPTED_WHEN_OPTIMISED = {
    # clang takes the result of realloc(p, 0) for a block, and the program ends there.
    "reach_allocation_functions.c": {"zero_size_bad"},
    # clang puts the function in line, so its volatile slots lie in the frame that exits.
    "reach_dead_slots.c": {"lost_in_callee_bad"},
}
# The marks are those of stores to memory; variables tell more.
SEEN_IN_VARIABLES = {
    "ring_bad": "out-of-scope",  # a variable holds it until the brace
    "FN_in_unique_bad": "never-stored",  # the result of release() held it last
    "FN_at_pthread_exit_bad": "out-of-scope",  # where the variable is in a register
    "reused_bad": "out-of-scope",  # a variable has its address from a freed block
}


def names_of(finding: dict[str, Any]) -> set[str]:
    frames = finding["allocation"]["frames"]
    return {
        name
        for frame in frames
        for name in re.findall(r"\w+_(?:bad|ok)\b", frame["function"])
    }


def losses(outcome: Outcome) -> dict[str, dict[str, Any]]:
    """Return the loss of each lost block by the verdict that allocates it."""
    return {
        name: finding["loss"]
        for finding in outcome.report["findings"]
        for name in names_of(finding)
        if finding["kind"] == "lost"
    }


def check_marks(source: Path, found: dict[str, dict[str, Any]]) -> None:
    """A statement of several lines counts by its first, a comment below by the last."""
    for number, line in enumerate(source.read_text().splitlines(), 1):
        for name, cause in MARK.findall(line):
            loss = found[name]
            if loss["cause"] == SEEN_IN_VARIABLES.get(name):
                continue
            assert loss["cause"] == cause, name
            own = {f["line"] for f in loss["frames"] if source.name in f["file"]}
            assert cause == "thread-exit" or own & {number - 1, number}, name


@pytest.mark.parametrize(("name", "optimisation"), CASES)
def test_every_loss_of_the_corpus_is_exact(
    name: str, optimisation: str, tmp_path: Path, watch: Callable[..., Outcome]
) -> None:
    program = compile_file(PROGRAMS / name, tmp_path / "program", optimisation)
    outcome = watch([program])
    verdicts = set(VERDICT.findall((PROGRAMS / name).read_text()))
    if optimisation != "-O0":
        verdicts -= EXCEPTED_WHEN_OPTIMISED.get(name, set())
    all_names = [names_of(finding) for finding in outcome.report["findings"]]
    bad = {verdict for verdict in verdicts if verdict.endswith("_bad")}
    assert verdicts & set().union(*all_names) == bad
    found = losses(outcome)
    for loss in found.values():
        assert loss["precision"] == "exact" or loss["cause"] == "thread-exit"
    check_marks(PROGRAMS / name, found)
    assert losses_without_callers(outcome) == []
