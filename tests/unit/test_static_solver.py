"""Questions to the solver, and its process."""

import shutil
import sys
from collections.abc import Iterator

import pytest

from leakline.static.engine.values import HEAP, Terms
from leakline.static.solver import Query, Solver, Verdict

EFFORT = 1_000_000


@pytest.fixture
def solver() -> Iterator[Solver]:
    found = Solver()
    yield found
    found.close()


def test_contradicting_sums_are_impossible(solver: Solver) -> None:
    terms = Terms()
    a, b = terms.symbol("arg", 0), terms.symbol("arg", 1)
    total = terms.symbol("bin", "add", a, b, 32)
    conditions = [
        (terms.symbol("eq", total, 7), False),
        (terms.symbol("eq", a, 3), True),
        (terms.symbol("eq", b, 4), True),
    ]
    assert solver.ask(Query.of(terms, conditions, EFFORT)) is Verdict.IMPOSSIBLE
    assert solver.ask(Query.of(terms, conditions[1:], EFFORT)) is Verdict.POSSIBLE


def test_numbers_wrap_at_their_width(solver: Solver) -> None:
    terms = Terms()
    byte = terms.symbol("cast", "trunc", terms.symbol("arg", 0), 8, 32)
    assert (
        solver.ask(Query.of(terms, [(byte, (200, 300, None))], EFFORT))
        is Verdict.IMPOSSIBLE
    )


def test_objects_are_neither_null_nor_equal(solver: Solver) -> None:
    terms = Terms()
    first, second = (terms.base(HEAP, ("heap", n)) for n in (0, 1))
    for condition in (
        terms.symbol("eq", (first, 0), (second, 0)),
        terms.symbol("eq", (first, 0), 0),
    ):
        query = Query.of(terms, [(condition, True)], EFFORT)
        assert solver.ask(query) is Verdict.IMPOSSIBLE


def test_too_little_effort_is_unknown(solver: Solver) -> None:
    terms = Terms()
    x, y = terms.symbol("arg", 0), terms.symbol("arg", 1)
    product = terms.symbol("bin", "mul", x, y, 64)
    conditions = [
        (terms.symbol("eq", product, 0x7FFFFFFFFFFFFFE7), True),
        (x, (2, 1 << 61, None)),
        (y, (2, 1 << 61, None)),
    ]
    assert solver.ask(Query.of(terms, conditions, 1)) is Verdict.UNKNOWN


def test_a_solver_that_crashes_on_a_question_says_so(
    solver: Solver, monkeypatch: pytest.MonkeyPatch
) -> None:
    terms = Terms()
    query = Query.of(terms, [(terms.symbol("arg", 0), True)], EFFORT)
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    assert solver.ask(query) is Verdict.CRASHED
    monkeypatch.undo()
    assert solver.ask(query) is Verdict.POSSIBLE


def test_a_solver_that_ended_is_started_again(solver: Solver) -> None:
    terms = Terms()
    query = Query.of(terms, [(terms.symbol("arg", 0), True)], EFFORT)
    assert solver.ask(query) is Verdict.POSSIBLE
    solver.close()
    assert solver.ask(query) is Verdict.POSSIBLE
