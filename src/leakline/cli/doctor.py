"""Inspects a program and this machine, and says which lenses will work and why not.

Nothing is run. The exit code is 3 when the program cannot be watched.
"""

import os
import sys
import textwrap
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from leakline.errors import ProgramError

if TYPE_CHECKING:
    from leakline.cli.inspection.observation import Observation
    from leakline.reports.style import Style

_SUBJECT_WIDTH = 14
_STATE_WIDTH = 9
_WIDTH = 100


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the arguments of `leakline doctor`."""
    parser.add_argument(
        "program",
        metavar="PROG",
        nargs="?",
        help="the program to inspect (default: this machine only)",
    )


def run(arguments: Namespace) -> int:
    """Prints the findings; returns 3 when nothing could be watched."""
    from leakline.cli.inspection.binary import inspect_program
    from leakline.cli.inspection.host import inspect_host
    from leakline.cli.inspection.program import find_program
    from leakline.reports.style import style_for

    style = style_for(sys.stdout, os.environ, Path.cwd())
    program: list[Observation] = []
    if arguments.program:
        path = find_program(arguments.program, os.environ.get("PATH"))
        program = list(inspect_program(path))
        _print_section(path, _observations(program, style), style)
    host = list(inspect_host(os.environ))
    _print_section("This machine", _observations(host, style), style)
    obstacles = _obstacles([*program, *host])
    _print_section("Lenses", _lenses(obstacles, style), style)
    return ProgramError.exit_code if obstacles else 0


def _obstacles(observations: Iterable["Observation"]) -> list[str]:
    from leakline.cli.inspection.observation import State

    return [fact.subject for fact in observations if fact.state is State.BAD]


def _observations(
    observations: Iterable["Observation"], style: "Style"
) -> Iterator[str]:
    for fact in observations:
        yield _row(fact.subject, fact.state.value, fact.words, style)


def _lenses(obstacles: list[str], style: "Style") -> Iterator[str]:
    from leakline.cli.inspection.lenses import COMMANDS, COSTS, QUESTIONS

    for name, question in QUESTIONS.items():
        if obstacles and name not in COMMANDS:
            words = f"will not work: see {', '.join(obstacles)} above"
            yield _row(name, "no", words, style)
        else:
            yield _row(name, "ok", f"works: {question}; costs {COSTS[name]}", style)


def _row(subject: str, state: str, words: str, style: "Style") -> str:
    from leakline.reports.printable import printable
    from leakline.reports.style import Role

    roles = {"ok": Role.CALM, "limited": Role.WARNING, "no": Role.ALARM}
    margin = 2 + _SUBJECT_WIDTH + _STATE_WIDTH
    width = max(style.width or _WIDTH, margin + _SUBJECT_WIDTH)
    first, *others = textwrap.wrap(
        printable(words), width - margin, break_long_words=False
    )
    state_cell = style.paint(state, roles.get(state, Role.QUIET))
    state_cell += " " * (_STATE_WIDTH - len(state))
    lines = [f"  {subject:<{_SUBJECT_WIDTH}}{state_cell}{first}"]
    lines += [" " * margin + line for line in others]
    return "\n".join(lines)


def _print_section(title: str, rows: Iterable[str], style: "Style") -> None:
    from leakline.reports.printable import printable
    from leakline.reports.style import Role

    print(style.paint(printable(title), Role.TITLE))
    for row in rows:
        print(row)
    print()
