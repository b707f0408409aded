"""Random programs lose their blocks where a simulation of them says.

A program is a list of statements, one per line, each of which stores or frees one
pointer. The simulation runs the same statements on a model of memory and asks after each
of them which blocks can still be reached, by a plain search. Nothing of Leakline takes
part in it.
"""

import random
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from .conftest import Outcome

SLOTS = 12
FIELDS = 4
STATEMENTS = 400

HEAD = """
#include <stdlib.h>
#include <string.h>
struct node { struct node* volatile f[4]; };
struct copy { struct node* f[4]; };
static struct node* volatile s[12];
/* The compiler knows nothing of it, and leaves all calls in. */
static void* (*volatile fill)(void*, int, size_t) = memset;
static void scrub(void) {
    volatile char room[16384];
    for (unsigned i = 0; i < sizeof room; i++) {
        room[i] = 0;
    }
}
int main(void) {
"""
TAIL = """
    scrub();
    return 0;
}
"""


@dataclass
class Model:
    """The memory of a program; a block is known by the line that allocates it."""

    slots: list[int | None] = field(default_factory=lambda: [None] * SLOTS)
    blocks: dict[int, list[int | None]] = field(default_factory=dict)

    def reached(self) -> set[int]:
        pending = [block for block in self.slots if block is not None]
        seen: set[int] = set()
        while pending:
            block = pending.pop()
            if block not in seen:
                seen.add(block)
                pending += [to for to in self.blocks[block] if to is not None]
        return seen

    def references(self, block: int) -> int:
        words = [*self.slots]
        for fields in self.blocks.values():
            words += fields
        return words.count(block)

    def statement(self, source: random.Random, line: int) -> str:
        """Run one random statement; return it in C."""
        a, b, k = (source.randrange(n) for n in (SLOTS, SLOTS, FIELDS))
        action = source.choices(
            "ANCFEGXVSZRMK", (8, 2, 4, 8, 2, 2, 4, 1, 2, 1, 2, 1, 1)
        )[0]
        if action == "N":
            self.slots[a] = None
            return f"s[{a}] = NULL;"
        if action == "C":
            self.slots[a] = self.slots[b]
            return f"s[{a}] = s[{b}];"
        if action == "V":
            return self._move_slots(a, b, k)
        if action == "K":
            return self._clear_slots(a, k)
        if action != "A" and self.slots[a] is not None:
            return self._change_block(action, a, b, k, line)
        self.slots[a] = line
        self.blocks[line] = [None] * FIELDS
        return f"s[{a}] = calloc(1, sizeof(struct node));"

    def _change_block(self, action: str, a: int, b: int, k: int, line: int) -> str:
        if action == "R":
            return self._reallocate(a, line)
        if action == "M":
            return self._clear_fields(a, b % FIELDS, k)
        if action == "Z" or (action == "S" and self.slots[b] is not None):
            return self._whole_block(action, a, b)
        return self._with_block(action, a, b, k)

    def _move_slots(self, a: int, b: int, k: int) -> str:
        """Copies up to four slots at once."""
        size = min(k + 1, SLOTS - a, SLOTS - b, abs(a - b))
        self.slots[a : a + size] = self.slots[b : b + size]
        return f"memcpy((void*)&s[{a}], (void*)&s[{b}], {8 * size});"

    def _clear_slots(self, a: int, k: int) -> str:
        """Clears up to eight slots at once."""
        size = min(2 * k + 1, SLOTS - a)
        self.slots[a : a + size] = [None] * size
        return f"fill((void*)&s[{a}], 0, {8 * size});"

    def _clear_fields(self, a: int, first: int, k: int) -> str:
        block = self.slots[a]
        assert block is not None
        size = min(k + 1, FIELDS - first)
        self.blocks[block][first : first + size] = [None] * size
        return f"fill((void*)&s[{a}]->f[{first}], 0, {8 * size});"

    def _whole_block(self, action: str, a: int, b: int) -> str:
        first, second = self.slots[a], self.slots[b]
        assert first is not None
        if action == "Z" or second is None:
            self.blocks[first] = [None] * FIELDS
            return f"*(struct copy*)s[{a}] = (struct copy){{{{NULL}}}};"
        self.blocks[first] = [*self.blocks[second]]
        return f"*(struct copy*)s[{a}] = *(struct copy*)s[{b}];"

    def _reallocate(self, a: int, line: int) -> str:
        """Moves a block that only one slot refers to; it is another one then."""
        first = self.slots[a]
        assert first is not None
        if self.references(first) > 1 or first in self.blocks[first]:
            self.slots[a] = None
            return f"s[{a}] = NULL;"
        self.blocks[line] = self.blocks.pop(first)
        self.slots[a] = line
        return f"s[{a}] = realloc(s[{a}], 5000);"

    def _with_block(self, action: str, a: int, b: int, k: int) -> str:
        first = self.slots[a]
        assert first is not None
        if action == "F":
            self.blocks[first][k] = self.slots[b]
            return f"s[{a}]->f[{k}] = s[{b}];"
        if action == "E":
            self.blocks[first][k] = None
            return f"s[{a}]->f[{k}] = NULL;"
        if action == "G" or self.references(first) > 1:
            self.slots[b] = self.blocks[first][k]
            return f"s[{b}] = s[{a}]->f[{k}];"
        del self.blocks[first]
        self.slots[a] = None
        return f"free(s[{a}]), s[{a}] = NULL;"


def program(seed: int) -> tuple[str, dict[int, int]]:
    """Return a program, and for each lost block the line that loses it."""
    source = random.Random(seed)  # noqa: S311 - not for secrets
    model = Model()
    lines = HEAD.splitlines()
    lost: dict[int, int] = {}
    for line in range(len(lines) + 1, len(lines) + 1 + STATEMENTS):
        lines.append(model.statement(source, line))
        reached = model.reached()
        for block in model.blocks:
            if block not in reached:
                lost.setdefault(block, line)
    return "\n".join(lines) + TAIL, lost


def reported(outcome: Outcome) -> Iterator[tuple[int, int]]:
    """Yield the lines of allocation and loss of each finding."""
    for finding in outcome.report["findings"]:
        if finding["kind"] == "lost":
            yield own_line(finding["allocation"]), own_line(finding["loss"])


def own_line(stack: dict[str, Any]) -> int:
    """Return the line in the program itself, below which is the library."""
    lines = [frame["line"] for frame in stack["frames"] if "random.c" in frame["file"]]
    return int(lines[0]) if lines else 0


@pytest.mark.parametrize("optimisation", ["-O0", "-O2"])
@pytest.mark.parametrize("seed", range(3))
def test_losses_are_where_the_simulation_has_them(
    seed: int, optimisation: str, tmp_path: Path, watch: Callable[..., Outcome]
) -> None:
    text, lost = program(seed)
    (tmp_path / "random.c").write_text(text)
    target = tmp_path / "random"
    command = [
        "gcc",
        "-g",
        "-fno-strict-aliasing",
        optimisation,
        f"{target}.c",
        "-o",
        str(target),
    ]
    subprocess.run(command, check=True)
    outcome = watch([target], "--lens", "loss")
    found = dict(reported(outcome))
    assert found == {block: lost[block] for block in found}
    blocks = sum(
        finding["blocks"]
        for finding in outcome.report["findings"]
        if finding["kind"] in ("lost", "indirectly lost")
    )
    # A register may hold one or two at the end.
    assert len(lost) - 2 <= blocks <= len(lost)
    assert len(found) > 20
