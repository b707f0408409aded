"""Which blocks a second run traces, and which of several traces counts."""

import pytest

from leakline.dynamic.traces import (
    MOST_TARGETS,
    Refinable,
    Trace,
    TraceKey,
    join_traces,
    most_refinable,
)
from leakline.recording._format import Refined
from leakline.symbols.resolve import Address, Module

MODULE = Module("prog", b"id")


def refinable(number: int, size: int, ordinal: int = 1) -> Refinable:
    return Refinable(((Address(MODULE, number), 0),), ordinal, size)


def trace(outcome: Refined) -> Trace:
    return Trace(outcome, 0, in_second_run=True, steps=(), is_whole=True)


def test_the_largest_stacks_are_traced() -> None:
    found = [refinable(number, number) for number in range(MOST_TARGETS + 10)]
    chosen = most_refinable(found)
    assert len(chosen) == MOST_TARGETS
    assert chosen[0].bytes == MOST_TARGETS + 9
    assert min(one.bytes for one in chosen) == 10


def test_one_block_is_traced_of_each_stack() -> None:
    first, second = refinable(1, 10, ordinal=3), refinable(1, 50, ordinal=7)
    assert most_refinable([first, second, refinable(2, 20)]) == [
        second,
        refinable(2, 20),
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Refined.LOST, Refined.FREED),
        (Refined.LOST, Refined.NOT_MET),
        (Refined.HELD, Refined.NOT_MET),
    ],
)
def test_the_process_that_saw_the_loss_counts(one: Refined, other: Refined) -> None:
    key = TraceKey(5, 0)
    better, worse = {key: trace(one)}, {key: trace(other)}
    assert join_traces(better, worse) == better
    assert join_traces(worse, better) == better
