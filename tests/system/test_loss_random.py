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

import pytest

from .conftest import Outcome

SLOTS = 12
FIELDS = 4
STATEMENTS = 400

HEAD = """
#include <stdlib.h>
struct node { struct node* volatile f[4]; };
static struct node* volatile s[12];
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
        first, second = self.slots[a], self.slots[b]
        action = source.choices("ANCFEGX", (4, 1, 2, 4, 1, 1, 2))[0]
        if action == "N":
            self.slots[a] = None
            return f"s[{a}] = NULL;"
        if action == "C":
            self.slots[a] = second
            return f"s[{a}] = s[{b}];"
        if first is not None and action in "FEGX":
            return self._with_block(action, a, b, k)
        self.slots[a] = line
        self.blocks[line] = [None] * FIELDS
        return f"s[{a}] = calloc(1, sizeof(struct node));"

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
            allocated = finding["allocation"]["frames"][0]["line"]
            yield allocated, finding["loss"]["frames"][0]["line"]


@pytest.mark.parametrize("optimisation", ["-O0", "-O2"])
@pytest.mark.parametrize("seed", range(5))
def test_losses_are_where_the_simulation_has_them(
    seed: int, optimisation: str, tmp_path: Path, watch: Callable[..., Outcome]
) -> None:
    text, lost = program(seed)
    (tmp_path / "random.c").write_text(text)
    target = tmp_path / "random"
    command = ["gcc", "-g", optimisation, f"{target}.c", "-o", str(target)]
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
