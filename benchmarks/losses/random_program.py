"""Random programs whose losses are known, and what a report says about them.

A program is a list of statements in `main`, one per line, so that a line names a
statement. A model of its memory says after each of them what is lost.
"""

import random
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.losses.statements import THREAD_FUNCTIONS, Statements

FILE_NAME = "random.c"
SOURCES = Path(__file__).parent
# Functions whose variable another one fills; the others fill theirs themselves.
FILLED_BY = {"hold_in_caller": "make_into"}
FLAGS = (
    "-D_GNU_SOURCE",
    "-g",
    "-fno-strict-aliasing",
    "-Wno-alloc-size-larger-than",
    "-pthread",
)


class Loss(NamedTuple):
    """How a block became unreachable.

    Attributes:
        line: The statement.
        cause: As reports name it.
        function: The function that lost it, if that is not `main` or called by it.
        births: Lines that created the references which the statement removed.
        later: Why the variable lost it that held it after memory had lost it.
    """

    line: int
    cause: str
    function: str
    births: frozenset[int]
    later: str = ""


class Program(NamedTuple):
    """A program and its losses, by the line that allocates the block."""

    text: str
    losses: dict[int, Loss]


class Wrong(NamedTuple):
    """A finding that does not tell what happened."""

    block: int
    expected: Loss
    told: dict[str, Any]


def random_program(seed: int, statements: int) -> Program:
    """Makes the program of a seed."""
    run = Statements(random.Random(seed))  # noqa: S311 - not for secrets
    lines = (SOURCES / "random_head.c").read_text().splitlines()
    losses: dict[int, Loss] = {}
    for _ in range(statements):
        run.line = len(lines) + 1
        before = run.memory.slots()
        statement = run.run()
        lines.append(f"    {statement.text}")
        removed = [word for _, _, word in before - run.memory.slots()]
        for block in run.memory.lost() - losses.keys():
            births = run.memory.births_of(block, removed)
            losses[block] = Loss(
                run.line, statement.cause, statement.function, births, statement.later
            )
    lines += ["    scrub();", "    return 0;", "}", ""]
    return Program("\n".join(lines), losses)


def build(program: Program, folder: Path, optimisation: str) -> list[str]:
    """Compiles a program and two libraries; returns its command."""
    (folder / FILE_NAME).write_text(program.text)
    command = [str(folder / "random")]
    compiler = ["gcc", *FLAGS, optimisation]
    subprocess.run([*compiler, folder / FILE_NAME, "-o", command[0]], check=True)
    for name in ("first.so", "second.so"):
        command.append(str(folder / name))
        library = [str(SOURCES / "random_library.c"), "-o", command[-1]]
        subprocess.run([*compiler, "-shared", "-fPIC", *library], check=True)
    return command


def lost_blocks(report: Mapping[str, Any]) -> int:
    """The number of blocks that a report calls lost."""
    kinds = ("lost", "indirectly lost")
    return sum(one["blocks"] for one in report["findings"] if one["kind"] in kinds)


def wrong_findings(
    report: Mapping[str, Any], program: Program, *, refined: bool = False
) -> Iterator[Wrong]:
    """The findings of a report that the model contradicts.

    Args:
        report: What is told about a run of the program.
        program: The program and what it loses.
        refined: A second run may have seen what variables held for longer.
    """
    for finding in report["findings"]:
        block = main_line(finding["allocation"])
        if finding["kind"] != "lost":
            continue
        expected = program.losses.get(block)
        if expected is None:
            yield Wrong(block, Loss(0, "not lost", "", frozenset()), finding)
        elif not _is_right(finding, expected, refined=refined):
            yield Wrong(block, expected, finding)


def main_line(stack: Mapping[str, Any] | None) -> int:
    """The line of `main` on a stack, 0 if it is not there."""
    frames = stack["frames"] if stack is not None else ()
    lines = [
        frame["line"]
        for frame in frames
        if frame["function"] == "main" and frame["file"].endswith(FILE_NAME)
    ]
    return int(lines[0]) if lines else 0


def _is_right(finding: Mapping[str, Any], expected: Loss, *, refined: bool) -> bool:
    loss = finding["loss"]
    functions = [frame["function"] for frame in loss["frames"]]
    line_is_right = main_line(loss) == expected.line
    # "During this call": of the function that `main` calls there.
    in_call = line_is_right and loss["precision"] == "window"
    place_is_right = (
        expected.function in functions or in_call
        if expected.function
        else line_is_right
    )
    birth_is_right = not finding["birth"] or _is_birth(finding, expected)
    causes = [expected.cause, *([expected.later] if refined else [])]
    return loss["cause"] in causes and place_is_right and birth_is_right


def _is_birth(finding: Mapping[str, Any], expected: Loss) -> bool:
    """Whether the line that created the reference is right."""
    birth = finding["birth"]
    is_variable = finding["loss"]["cause"] == "out-of-scope"
    if is_variable or expected.function in THREAD_FUNCTIONS:
        filler = FILLED_BY.get(expected.function, expected.function)
        return bool(birth["frames"][0]["function"] == filler)
    return main_line(birth) in expected.births
