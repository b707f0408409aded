"""Runs one command and tells what it cost.

CPU time of the whole process tree, not wall time, because machines are shared; the
numbers come from the kernel when the command is waited for.
"""

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


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
        environment: Added to our own.
        folder: Working folder.
        stdin: File read as standard input, or None for none.
        statuses: Exit statuses that are fine.
    """

    arguments: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]
    folder: Path
    stdin: Path | None = None
    statuses: tuple[int, ...] = (0,)


class FailedError(Exception):
    """A measured command did not end as it should."""


def start(command: Command) -> subprocess.Popen[bytes]:
    """Start a command with its output thrown away."""
    stdin = command.stdin.open("rb") if command.stdin else subprocess.DEVNULL
    return subprocess.Popen(
        command.arguments,
        env={**os.environ, **dict(command.environment)},
        cwd=command.folder,
        stdin=stdin,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def finish(process: subprocess.Popen[bytes], statuses: Sequence[int]) -> Cost:
    """Wait for a started command and return its cost."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in statuses:
        raise FailedError(f"{process.args!r} ended with {process.returncode}")
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss)


def run(command: Command) -> Cost:
    """Run a command to its end and return its cost."""
    return finish(start(command), command.statuses)
