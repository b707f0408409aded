"""A model of a program's memory that knows which blocks can still be reached.

It is the oracle for lens `loss`: it runs the statements of a random program on plain
lists and searches them after each one. Nothing of Leakline takes part in it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple


class Word(NamedTuple):
    """A reference in memory.

    Attributes:
        block: The line that allocated what it refers to.
        birth: The line that stored it.
    """

    block: int
    birth: int


# An area is a list of words: of a block, which is known by the line that allocates it,
# or of memory that is always reachable, known by its name in the program.
Area = list[Word | None]


@dataclass
class Memory:
    """All areas."""

    roots: dict[str, Area] = field(default_factory=dict)
    blocks: dict[int, Area] = field(default_factory=dict)

    def areas(self) -> Iterator[tuple[str | int, Area]]:
        """Every area with its name or line."""
        yield from self.roots.items()
        yield from self.blocks.items()

    def references(self, block: int) -> int:
        """The number of references to a block."""
        words = [word for _, area in self.areas() for word in area if word]
        return sum(word.block == block for word in words)

    def reached(self, starts: Iterable[int]) -> set[int]:
        """The blocks that some blocks lead to, and those themselves."""
        pending = list(starts)
        seen: set[int] = set()
        while pending:
            block = pending.pop()
            if block not in seen:
                seen.add(block)
                pending += [word.block for word in self.blocks[block] if word]
        return seen

    def lost(self) -> set[int]:
        """The blocks that no root leads to."""
        roots = [word.block for area in self.roots.values() for word in area if word]
        return self.blocks.keys() - self.reached(roots)

    def slots(self) -> set[tuple[str | int, int, Word]]:
        """Every slot with a reference: area, index in it, reference."""
        return {
            (name, index, word)
            for name, area in self.areas()
            for index, word in enumerate(area)
            if word
        }

    def births_of(self, block: int, removed: Iterable[Word]) -> frozenset[int]:
        """Where those references were created that led to a block."""
        return frozenset(
            word.birth
            for word in removed
            if word.block in self.blocks and block in self.reached([word.block])
        )
