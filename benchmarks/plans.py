"""`python -m benchmarks.plans`: what planning programs and libraries takes.

For each module its instructions, stores and the share of them that the plan covers, and
the CPU time of making the plan by one process.
"""

import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from iced_x86 import Decoder, Instruction

from leakline.patching import plan_file
from leakline.patching.module import make_plan
from leakline.patching.source import read_source

_LOWEST_SHARES = {True: 99.0, False: 99.5}  # by whether the addresses are fixed


@dataclass(frozen=True, slots=True)
class Row:
    """One module.

    Attributes:
        limit_s: The most that its plan may take, or None.
    """

    name: str
    is_fixed: bool
    instructions: int
    stores: int
    share: float
    cpu_s: float
    limit_s: float | None

    def is_good(self) -> bool:
        """Tell whether share and time are within their limits."""
        in_time = self.limit_s is None or self.cpu_s <= self.limit_s
        return in_time and self.share >= _LOWEST_SHARES[self.is_fixed]

    def render(self) -> str:
        """Return a line of the table."""
        kind = "fixed" if self.is_fixed else "movable"
        limit = "-" if self.limit_s is None else f"{self.limit_s:.0f}"
        return (
            f"| {self.name} | {kind} | {self.instructions} | {self.stores} | "
            f"{self.share:.2f} % | {self.cpu_s:.2f} | {limit} |"
        )


def count_instructions(path: Path) -> int:
    """Count the instructions that unwind tables cover."""
    source = read_source(path)
    code = source.code_pages()
    instruction = Instruction()
    count = 0
    for function in source.functions:
        start, end = function.start - code.base, function.end - code.base
        if 0 <= start < end <= len(code.content):
            decoder = Decoder(64, code.content[start:end], ip=function.start)
            while decoder.can_decode:
                decoder.decode_out(instruction)
                count += 1
    return count


def measure(path: Path, limit_s: float | None) -> Row:
    """Plan one module."""
    started = time.process_time()
    plan = make_plan(path)
    plan_file.serialise(plan)
    cpu_s = time.process_time() - started
    left_out = sum(plan.left_out.values())
    share = 100 - 100 * left_out / max(plan.stores, 1)
    is_fixed = read_source(path).is_fixed
    instructions = count_instructions(path)
    return Row(path.name, is_fixed, instructions, plan.stores, share, cpu_s, limit_s)


def compiler_proper() -> Path:
    """Return gcc's cc1, a program of about 5 million instructions."""
    command = ["gcc", "-print-prog-name=cc1"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return Path(done.stdout.strip())


def main() -> int:
    """Plan some modules, print the table, and fail when a limit is missed."""
    modules: list[tuple[Path, float | None]] = [
        (Path("/lib/x86_64-linux-gnu/libc.so.6").resolve(), 2.0),
        (Path("/usr/bin/bash").resolve(), None),
        (Path("/usr/bin/perl").resolve(), None),
        (Path("/usr/bin/python3").resolve(), None),
        (compiler_proper(), 60.0),
    ]
    print("| module | addresses | instructions | stores | covered | CPU s | limit |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    rows = []
    for path, limit_s in modules:
        rows.append(measure(path, limit_s))
        print(rows[-1].render(), flush=True)
    return 0 if all(row.is_good() for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
