"""Every command has a page, and every option of `run` and `check` stands in theirs."""

import pytest

from leakline.cli.main import COMMANDS
from leakline.cli.options_table import Command, all_commands

from .pages import ROOT

# Commands that only start others have no options of their own.
DESCRIBED = [one for one in all_commands() if one.name in {"run", "check"}]


def page_of(command: str) -> str:
    pages = [ROOT / f"docs/commands/{command}.md", ROOT / f"docs/{command}.md"]
    return "".join(page.read_text() for page in pages if page.exists())


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_page_that_the_index_names(command: str) -> None:
    index = (ROOT / "docs/cli.md").read_text()
    assert page_of(command), command
    assert f"[`leakline {command}`]" in index


@pytest.mark.parametrize("command", DESCRIBED, ids=lambda one: one.name)
def test_the_page_names_every_option(command: Command) -> None:
    text = page_of(command.name)
    names = [option.names[-1] for option in command.options]
    assert [name for name in names if name not in text and name != "--help"] == []
