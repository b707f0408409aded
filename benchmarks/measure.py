"""Runs one command and tells what it cost.

CPU time of the whole process tree, not wall time, because machines are shared; the
numbers come from the kernel when the command is waited for.
"""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

COST_SOURCE = Path(__file__).parent / "programs/cost.c"


@dataclass(frozen=True, slots=True)
class Cost:
    """What a command and its children used."""

    cpu_s: float
    peak_kib: int  # largest resident set of any one of them


@dataclass(frozen=True, slots=True)
class Command:
    """A command to measure.

    Attributes:
        arguments: Program and arguments.
        environment: Added to our own, for the command only.
        folder: Working folder; also keeps the measuring program.
        stdin: File read as standard input, or None for none.
    """

    arguments: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]
    folder: Path
    stdin: Path | None = None


class FailedError(Exception):
    """A measured command did not end as it should."""


class Measurement:
    """A command that was started and is being measured."""

    def __init__(self, command: Command) -> None:
        self._command = command
        self._output = command.folder / "cost.txt"
        variables = [f"{name}={value}" for name, value in command.environment]
        stdin = command.stdin.open("rb") if command.stdin else None
        self._process = subprocess.Popen(
            [
                _measuring_program(command.folder),
                self._output,
                "env",
                *variables,
                *command.arguments,
            ],
            cwd=command.folder,
            stdin=stdin or subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        if stdin:
            stdin.close()

    @property
    def pid(self) -> int:
        """The process that measures; the command is its child."""
        return self._process.pid

    def finish(self) -> Cost:
        """Wait for the end of the command and return its cost."""
        if self._process.wait() != 0:
            raise FailedError(f"{self._command.arguments[0]} could not be measured")
        status, cpu_us, peak_kib = map(int, self._output.read_text().split())
        if os.waitstatus_to_exitcode(status) != 0:
            raise FailedError(f"{self._command.arguments[0]} ended with {status:#x}")
        return Cost(cpu_us / 1e6, peak_kib)


def run(command: Command) -> Cost:
    """Run a command to its end and return its cost."""
    return Measurement(command).finish()


def _measuring_program(folder: Path) -> Path:
    program = folder / "cost"
    if not program.exists():
        subprocess.run(["gcc", "-O1", COST_SOURCE, "-o", program], check=True)
    return program
