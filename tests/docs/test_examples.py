"""Every command in the documentation is run, and prints what the page shows."""

from pathlib import Path

import pytest

from .conftest import Run
from .pages import PAGES, ROOT, Example, examples, normalised, unmarked_commands

WITH_EXAMPLES = [page for page in PAGES if examples(page)]
# Nothing was found, leaks were found, or something could not be looked at.
FINE = {0, 23, 6}
# What the reader does in a checkout of Leakline itself; CI does it too.
DEVELOPERS = ("make demo", "make test", "make setup", "make bench")


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=name)
def test_commands_do_what_the_page_shows(page: Path, run: Run) -> None:
    for example in examples(page):
        if not example.command.startswith(DEVELOPERS):
            done = run(example.command)
            assert done.returncode in FINE, f"{example.command}\n{done.stdout}"
            assert_shown(example, done.stdout)


def assert_shown(example: Example, printed: str) -> None:
    """The pieces must follow each other; between them anything may stand."""
    if example.pieces is None or not any(example.pieces):
        return
    rest = normalised(printed)
    first, *others = example.pieces
    assert rest.startswith(first), f"$ {example.command}\n{printed}"
    rest = rest[len(first) :]
    for piece in filter(None, others):
        assert piece in rest, f"$ {example.command}\nwithout: {piece}\n{printed}"
        rest = rest.partition(piece)[2]
    assert others or not rest.strip(), f"$ {example.command}\n{printed}"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_no_command_stands_where_it_is_not_run(page: Path) -> None:
    assert unmarked_commands(page) == []
