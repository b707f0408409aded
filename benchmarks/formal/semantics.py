"""Runs a program by the rules of figure 2 and finds leaks by definitions 1 to 5.

After each step the blocks that no variable references any more are leaks by definition
5; the label of the step that first made a block one is where it was lost. Beyond the
paper, each reference remembers the label of the command that created it: its birth.
Nothing of Leakline takes part in it.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import singledispatchmethod
from typing import NamedTuple

from .language import (
    Allocate,
    Assign,
    Branch,
    Choice,
    Command,
    Loop,
    Read,
    Release,
    Scope,
    Write,
)


class Address(NamedTuple):
    """A cell of a block; the cell behind the last one still counts as the block's."""

    block: int
    cell: int


Value = Address | None


class Reference(NamedTuple):
    """What a variable or cell holds, and the label of the command that put it there."""

    value: Value = None
    birth: int = 0


@dataclass
class Block:
    """An allocated block (a, b) with its memory mapping."""

    label: int
    cells: list[Reference]


class Invalid(Exception):  # noqa: N818 - control flow inside the reference
    """The command has no meaning in this state; C would not define it either."""

    def __init__(self, command: Command) -> None:
        super().__init__()
        self.command = command


class Leak(NamedTuple):
    """Labels of one leaked block's allocation and loss."""

    allocated: int
    lost: int


class Loss(NamedTuple):
    """The label of a step that lost a block, and the births of what it took away.

    A step that ends a scope takes away the references of all its variables.
    """

    label: int
    births: frozenset[int]


@dataclass
class Machine:
    """A configuration: allocation, memory mapping, and the variables of all scopes."""

    blocks: dict[int, Block] = field(default_factory=dict)
    scopes: list[dict[str, Reference]] = field(default_factory=list)
    lost: dict[int, Loss] = field(default_factory=dict)
    # Of each choice, by its label.
    numbers: dict[int, int] = field(default_factory=dict)
    made: int = 0

    def leaks(self) -> list[Leak]:
        """Return the leaked blocks."""
        return [self._leak(block) for block in self.lost]

    def leaders(self) -> Counter[Leak]:
        """Return the leaks that no other leaked block points to."""
        pointed = {
            held.value.block
            for block in self.lost
            for held in self.blocks[block].cells
            if held.value is not None
        }
        return Counter(self._leak(block) for block in self.lost if block not in pointed)

    def births(self) -> dict[Leak, set[int]]:
        """Return where the references were created that leaks were lost with."""
        found: dict[Leak, set[int]] = {}
        for block, loss in self.lost.items():
            found.setdefault(self._leak(block), set()).update(loss.births)
        return found

    def _leak(self, block: int) -> Leak:
        return Leak(self.blocks[block].label, self.lost[block].label)

    def referenced(self) -> set[int]:
        """Return the blocks that some variable references (definition 4)."""
        pending = _pointed(held for scope in self.scopes for held in scope.values())
        seen: set[int] = set()
        while pending:
            block = pending.pop()
            if block in seen:
                continue
            seen.add(block)
            pending += _pointed(self.blocks[block].cells)
        return seen

    @singledispatchmethod
    def run(self, command: Command) -> None:
        """Run one command."""
        raise NotImplementedError(command)

    @run.register
    def _(self, command: Allocate) -> None:
        self.made += 1
        self.blocks[self.made] = Block(command.label, [Reference()] * command.cells)
        self._set(command, command.variable, Address(self.made, 0))

    @run.register
    def _(self, command: Release) -> None:
        address = self._get(command.variable)
        if address is None or address.cell or self._holders(address.block) != 1:
            raise Invalid(command)
        self._scope_of(command.variable)[command.variable] = Reference()
        gone = self.blocks.pop(address.block)
        self._find_lost(command.label, gone.cells)

    @run.register
    def _(self, command: Assign) -> None:
        self._set(command, command.variable, self._shifted(command, command.offset))

    @run.register
    def _(self, command: Read) -> None:
        address = self._shifted(command, command.offset)
        if address is None:
            raise Invalid(command)
        cells = self._cells(command, address)
        self._set(command, command.variable, cells[address.cell].value)

    @run.register
    def _(self, command: Write) -> None:
        address = self._get(command.variable)
        if address is None:
            raise Invalid(command)
        target = Address(address.block, address.cell + command.offset)
        value = self._get(command.source) if command.source else None
        cells = self._cells(command, target)
        gone = cells[target.cell]
        cells[target.cell] = Reference(value, command.label)
        self._find_lost(command.label, [gone])

    @run.register
    def _(self, command: Scope) -> None:
        self.scopes.append(dict.fromkeys(command.variables, Reference()))
        for inner in command.body:
            if not inner.skipped:
                self.run(inner)
        gone = self.scopes.pop()
        self._find_lost(command.end_label, gone.values())

    @run.register
    def _(self, command: Branch) -> None:
        holds = self._get(command.variable) is not None
        self.run(command.first if holds else command.second)

    @run.register
    def _(self, command: Choice) -> None:
        number = self.numbers.get(command.label, command.start) + command.step
        self.numbers[command.label] = number
        self.run(command.first if number % 2 else command.second)

    @run.register
    def _(self, command: Loop) -> None:
        for _ in range(command.times):
            self.run(command.body)

    def _scope_of(self, variable: str) -> dict[str, Reference]:
        return next(scope for scope in reversed(self.scopes) if variable in scope)

    def _get(self, variable: str) -> Value:
        return self._scope_of(variable)[variable].value

    def _set(self, command: Command, variable: str, value: Value) -> None:
        scope = self._scope_of(variable)
        gone = scope[variable]
        scope[variable] = Reference(value, command.label)
        self._find_lost(command.label, [gone])

    def _shifted(self, command: Assign | Read, offset: int) -> Value:
        address = self._get(command.source) if command.source else None
        if address is None:
            if command.source:
                raise Invalid(command)
            return None
        moved = Address(address.block, address.cell + offset)
        if not 0 <= moved.cell <= len(self.blocks[moved.block].cells):
            raise Invalid(command)
        return moved

    def _cells(self, command: Command, address: Value) -> list[Reference]:
        if address is None:
            raise Invalid(command)
        cells = self.blocks[address.block].cells
        if not 0 <= address.cell < len(cells):
            raise Invalid(command)
        return cells

    def _holders(self, block: int) -> int:
        """Return how many variables and cells point to a block."""
        holders = [held for scope in self.scopes for held in scope.values()]
        holders += [held for other in self.blocks.values() for held in other.cells]
        return _pointed(holders).count(block)

    def _find_lost(self, label: int, gone: Iterable[Reference]) -> None:
        """Find what a step lost that took away some references."""
        referenced = self.referenced()
        gone = list(gone)
        for block in self.blocks.keys() - referenced - self.lost.keys():
            births = [
                held.birth
                for held in gone
                if held.value is not None and held.value.block == block
            ]
            self.lost[block] = Loss(label, frozenset(births))


def _pointed(holders: Iterable[Reference]) -> list[int]:
    return [held.value.block for held in holders if held.value is not None]


def run(program: Scope) -> Machine:
    """Run a program; commands that have no meaning become skip."""
    while True:
        machine = Machine()
        try:
            machine.run(program)
        except Invalid as invalid:
            invalid.command.skipped = True
        else:
            return machine
