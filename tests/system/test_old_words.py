"""`--clear-freed`: words that freed blocks leave behind hide no leak."""

from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Outcome

HIDDEN = "hidden_by_old_word_bad"


@pytest.mark.parametrize("optimisation", ["-O0", "-O2"])
def test_an_old_word_hides_a_leak_unless_it_is_cleared(
    optimisation: str, build: Callable[..., Path], watch: Callable[..., Outcome]
) -> None:
    program = build("old_words.c", optimisation)
    assert HIDDEN not in watch([program]).functions("lost")
    cleared = watch([program], "--clear-freed")
    assert HIDDEN in cleared.functions("lost")
    assert cleared.report["findings"][0]["bytes"] == 700
