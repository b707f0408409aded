"""Random programs: functions full of objects, which call others that lose a block."""

import random
import re
from dataclasses import dataclass, field

from .vocabulary import (
    Loss,
    Way,
    all_noise,
    all_ways,
    long_lived,
    marked_loss,
    numbered,
    shared_head,
)

ROUNDS = 3
# Shorter texts lie in their object; of the longer ones each has a block.
LENGTHS = (16, 120)
SIZES = (17, 24, 33, 40, 56, 64, 72, 101, 120, 200, 504)
# What statements are put into; the first one as often as all others together.
AROUND = (
    "{body}",
    "{{\n{body}}}\n",
    "if (step != {below}) {{\n{body}}}\n",
    "for (int repeat_ = 0; repeat_ < 2; repeat_++) {{\n{body}}}\n",
    "try {{\n{body}}} catch (const std::bad_alloc&) {{\nabort();\n}}\n",
    "[&] {{\n{body}}}();\n",
)
# What the functions are.
FORMS = (
    "NOINLINE static void noise_(int step) {{\n{body}}}\n",
    "static void noise_(int step) {{\n{body}}}\n",
    "template <class T> NOINLINE static void noise_(T step) {{\n{body}}}\n",
    "NOINLINE static void noise_(int step, string beside = text(30)) {{\n{body}}}\n",
    "static const std::function<void(int)> noise_ = [](int step) {{\n{body}}};\n",
)


@dataclass
class File:
    """The text of a C++ file that grows, and the losses of its programs by makers."""

    text: str = field(default_factory=shared_head)
    losses: dict[str, Loss] = field(default_factory=dict)

    def add(self, text: str) -> None:
        """Append lines."""
        self.text += text

    @property
    def next_line(self) -> int:
        """The number of the line that comes next."""
        return self.text.count("\n") + 1


def printed(seeds: list[int]) -> File:
    """Print the programs of some seeds as one file, which runs them in this order."""
    file = File()
    names = [f"program_{seed}" for seed in seeds]
    for name, seed in zip(names, seeds, strict=True):
        source = random.Random(seed)  # noqa: S311 - programs, not secrets
        _Program(name, source, file).write()
    calls = "".join(f"{name}::run();\n" for name in names)
    counts = "".join(
        f'printf("{maker} %ld\\n", {maker.replace("block_", "made[")}]);\n'
        for maker in file.losses
    )
    file.add(f"int main() {{\n{calls}{counts}return sum == 42;\n}}\n")
    return file


@dataclass
class _Program:
    """One program while it is written: a namespace of the file.

    Attributes:
        statements: How many there are so far: their numbers.
        makers: How many ways there are so far: their numbers.
    """

    name: str
    source: random.Random
    file: File
    statements: int = 0
    makers: int = 0

    def write(self) -> None:
        ways = [
            self.source.sample(all_ways(), self.source.randint(1, 2))
            for _ in range(self.source.randint(2, 4))
        ]
        made = f"static long made[{sum(map(len, ways))}];\n"
        self.file.add(f"namespace {self.name} {{\n{long_lived()}{made}")
        functions = range(len(ways))
        for function in functions:
            self._write_function(function, ways[function])
        order = self.source.sample(functions, len(functions))
        calls = "".join(f"noise_{function}(round);\n" for function in order)
        again = "".join(f"noise_{function}(0);\n" for function in order)
        loop = f"for (int round = 0; round < {ROUNDS}; round++) {{\n{calls}}}\n"
        self.file.add(f"NOINLINE static void run() {{\n{loop}{again}}}\n}}\n")

    def _write_function(self, number: int, ways: list[Way]) -> None:
        chosen = self.source.choices(all_noise(), k=self.source.randint(4, 10))
        texts = [one.body for one in chosen]
        for way in ways:
            place = self.source.randint(0, len(texts))
            texts.insert(place, numbered("lose_();\n", self._write_way(way)))
        body = "".join(map(self._statement, texts))
        if self.source.choice((False, True)):
            body = f"for (int turn = 0; turn < 3; turn++, step = turn) {{\n{body}}}\n"
        form = self.source.choice(FORMS).format(body=body)
        self.file.add(form.replace("noise_", f"noise_{number}"))

    def _write_way(self, way: Way) -> int:
        maker = self.makers
        self.makers += 1
        text = way.text.replace("MAKER", str(maker))
        text = text.replace("SIZE", str(self.source.choice(SIZES)))
        loss = marked_loss(text, self.file.next_line)
        self.file.losses[f"{self.name}::block_{maker}"] = loss
        self.file.add(numbered(text, maker))
        return maker

    def _statement(self, text: str) -> str:
        self.statements += 1
        weights = [len(AROUND) - 1] + [1] * (len(AROUND) - 1)
        (around,) = self.source.choices(AROUND, weights)
        text = around.format(body=text, below=self.source.randrange(ROUNDS))
        for place in ("N", "M"):
            length = self.source.randint(*LENGTHS)
            text = re.sub(rf"\b{place}\b", str(length), text)
        return numbered(text, self.statements)
