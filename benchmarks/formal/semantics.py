"""Runs a program by the rules of figure 2 and finds leaks by definitions 1 to 5.

After each step the blocks that no variable references any more are leaks by definition
5; the label of the step that first made a block one is where it was lost. Nothing of
Leakline takes part in it.
"""

from collections import Counter
from dataclasses import dataclass, field
from functools import singledispatchmethod
from typing import NamedTuple

from .language import (
    Allocate,
    Assign,
    Branch,
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


@dataclass
class Block:
    """An allocated block (a, b) with its memory mapping."""

    label: int
    cells: list[Value]


class Invalid(Exception):  # noqa: N818 - control flow inside the reference
    """The command has no meaning in this state; C would not define it either."""

    def __init__(self, command: Command) -> None:
        super().__init__()
        self.command = command


class Leak(NamedTuple):
    """Labels of one leaked block's allocation and loss."""

    allocated: int
    lost: int


@dataclass
class Machine:
    """A configuration: allocation, memory mapping, and the variables of all scopes."""

    blocks: dict[int, Block] = field(default_factory=dict)
    scopes: list[dict[str, Value]] = field(default_factory=list)
    lost: dict[int, int] = field(default_factory=dict)
    made: int = 0

    def leaks(self) -> list[Leak]:
        """Return the leaked blocks."""
        return [Leak(self.blocks[b].label, label) for b, label in self.lost.items()]

    def leaders(self) -> Counter[Leak]:
        """Return the leaks that no other leaked block points to."""
        pointed = {
            value.block
            for block in self.lost
            for value in self.blocks[block].cells
            if value is not None
        }
        return Counter(
            Leak(self.blocks[block].label, label)
            for block, label in self.lost.items()
            if block not in pointed
        )

    def referenced(self) -> set[int]:
        """Return the blocks that some variable references (definition 4)."""
        pending = [v.block for scope in self.scopes for v in scope.values() if v]
        seen: set[int] = set()
        while pending:
            block = pending.pop()
            if block in seen:
                continue
            seen.add(block)
            pending += [value.block for value in self.blocks[block].cells if value]
        return seen

    @singledispatchmethod
    def run(self, command: Command) -> None:
        """Run one command."""
        raise NotImplementedError(command)

    @run.register
    def _(self, command: Allocate) -> None:
        self.made += 1
        self.blocks[self.made] = Block(command.label, [None] * command.cells)
        self._set(command, command.variable, Address(self.made, 0))

    @run.register
    def _(self, command: Release) -> None:
        address = self._get(command.variable)
        if address is None or address.cell or self._holders(address.block) != 1:
            raise Invalid(command)
        self._scope_of(command.variable)[command.variable] = None
        del self.blocks[address.block]
        self._find_lost(command.label)

    @run.register
    def _(self, command: Assign) -> None:
        self._set(command, command.variable, self._shifted(command, command.offset))

    @run.register
    def _(self, command: Read) -> None:
        address = self._shifted(command, command.offset)
        if address is None:
            raise Invalid(command)
        cells = self._cells(command, address)
        self._set(command, command.variable, cells[address.cell])

    @run.register
    def _(self, command: Write) -> None:
        address = self._get(command.variable)
        if address is None:
            raise Invalid(command)
        target = Address(address.block, address.cell + command.offset)
        value = self._get(command.source) if command.source else None
        self._cells(command, target)[target.cell] = value
        self._find_lost(command.label)

    @run.register
    def _(self, command: Scope) -> None:
        self.scopes.append(dict.fromkeys(command.variables))
        for inner in command.body:
            if not inner.skipped:
                self.run(inner)
        self.scopes.pop()
        self._find_lost(command.end_label)

    @run.register
    def _(self, command: Branch) -> None:
        holds = self._get(command.variable) is not None
        self.run(command.first if holds else command.second)

    @run.register
    def _(self, command: Loop) -> None:
        for _ in range(command.times):
            self.run(command.body)

    def _scope_of(self, variable: str) -> dict[str, Value]:
        return next(scope for scope in reversed(self.scopes) if variable in scope)

    def _get(self, variable: str) -> Value:
        return self._scope_of(variable)[variable]

    def _set(self, command: Command, variable: str, value: Value) -> None:
        self._scope_of(variable)[variable] = value
        self._find_lost(command.label)

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

    def _cells(self, command: Command, address: Value) -> list[Value]:
        if address is None:
            raise Invalid(command)
        cells = self.blocks[address.block].cells
        if not 0 <= address.cell < len(cells):
            raise Invalid(command)
        return cells

    def _holders(self, block: int) -> int:
        """Return how many variables and cells point to a block."""
        values = [value for scope in self.scopes for value in scope.values()]
        values += [value for other in self.blocks.values() for value in other.cells]
        return sum(value is not None and value.block == block for value in values)

    def _find_lost(self, label: int) -> None:
        referenced = self.referenced()
        for block in self.blocks:
            if block not in referenced:
                self.lost.setdefault(block, label)


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
