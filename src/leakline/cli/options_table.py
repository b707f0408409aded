"""The options of every command as plain data, for completions and the manual page."""

from argparse import SUPPRESS, Action
from importlib import import_module
from typing import NamedTuple

from leakline.cli.arguments import Parser
from leakline.cli.main import COMMANDS


class Option(NamedTuple):
    """One option of a command; `value` is empty when it takes none."""

    names: tuple[str, ...]
    value: str
    choices: tuple[str, ...]
    help: str


class Command(NamedTuple):
    """A command with what it does, in a line and in full."""

    name: str
    summary: str
    usage: str
    description: str
    options: tuple[Option, ...]
    arguments: tuple[Option, ...]


def all_commands() -> list[Command]:
    """Every command, in the order of the help."""
    return [_command(name, summary) for name, summary in COMMANDS.items()]


def _command(name: str, summary: str) -> Command:
    module = import_module(f"leakline.cli.{name}")
    parser = Parser(prog=f"leakline {name}", description=module.__doc__)
    module.add_arguments(parser)
    actions = [one for one in parser.option_actions() if one.help != SUPPRESS]
    made = [_option(action) for action in actions]
    return Command(
        name,
        summary,
        " ".join(parser.format_usage().removeprefix("usage: ").split()),
        module.__doc__ or "",
        tuple(option for option in made if option.names),
        tuple(option for option in made if not option.names),
    )


def _option(action: Action) -> Option:
    takes_value = action.nargs != 0
    metavar = action.metavar if isinstance(action.metavar, str) else ""
    return Option(
        names=tuple(action.option_strings),
        value=(metavar or action.dest.upper()) if takes_value else "",
        choices=tuple(map(str, action.choices or ())),
        help=" ".join((action.help or "").split()),
    )
