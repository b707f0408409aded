"""The abstract language: the commands of figure 1, as a tree.

Every variable holds a number: null or the address of a cell. Labels are the lines of the
program when it is printed as C, so they are given out by the printer.
"""

from dataclasses import dataclass, field


@dataclass
class Command:
    """One command; `label` is its line once it was printed, `skipped` makes it skip."""

    label: int = field(default=0, init=False)
    skipped: bool = field(default=False, init=False)


@dataclass
class Allocate(Command):
    """variable := malloc(cells)."""

    variable: str
    cells: int


@dataclass
class Release(Command):
    """free(variable), which then holds null."""

    variable: str


@dataclass
class Assign(Command):
    """variable := source + offset; null when the source is empty."""

    variable: str
    source: str
    offset: int


@dataclass
class Read(Command):
    """variable := deref(source + offset)."""

    variable: str
    source: str
    offset: int


@dataclass
class Write(Command):
    """deref(variable + offset) := source; null when the source is empty."""

    variable: str
    offset: int
    source: str


@dataclass
class Scope(Command):
    """begin def(variables); body end; `end_label` is the line of its end."""

    variables: list[str]
    body: list[Command]
    end_label: int = field(default=0, init=False)


@dataclass
class Branch(Command):
    """if variable then first else second, each of which is a scope."""

    variable: str
    first: Scope
    second: Scope


@dataclass
class Choice(Command):
    """if number then first else second, with a number that the compiler cannot know.

    Attributes:
        start: The number before the first turn; odd numbers choose the first scope.
        step: What each turn adds to it before it chooses.
    """

    start: int
    step: int
    first: Scope
    second: Scope


@dataclass
class Loop(Command):
    """While a counter is below `times` do body, which is a scope.

    Attributes:
        is_told: The compiler can know how often, and leave the loop out.
    """

    times: int
    is_told: bool
    body: Scope
