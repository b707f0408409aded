"""How many rounds a benchmark takes."""

from benchmarks.__main__ import rounds_of
from benchmarks.measure import Cost


def test_short_programs_get_more_rounds_than_asked_for() -> None:
    assert rounds_of([Cost(2.0, 1), Cost(3.0, 1)], 3) == 4


def test_long_programs_get_those_asked_for() -> None:
    assert rounds_of([Cost(30.0, 1)], 3) == 3


def test_the_shortest_get_three_times_those_asked_for() -> None:
    assert rounds_of([Cost(0.01, 1)], 3) == 9


def test_a_program_that_failed_plainly_gets_no_more() -> None:
    assert rounds_of([], 3) == 3
