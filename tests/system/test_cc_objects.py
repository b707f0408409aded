"""Random C++ programs lose their blocks where they should, whatever else they do.

What is tried here keeps the test short; `make bench-objects` tries more.
"""

import pytest
from benchmarks.objects.runs import compared

SEEDS = list(range(6))


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_objects_that_come_and_go_move_no_loss(level: str) -> None:
    outcome = compared(SEEDS, [level])
    assert outcome.wrong == []
    assert outcome.leaks > len(SEEDS)
