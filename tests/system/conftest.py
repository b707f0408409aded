"""Builds the programs of the corpus and runs the installed command on them."""

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

PROGRAMS = Path(__file__).resolve().parent.parent / "programs"
LEAKLINE = Path(sys.executable).parent / "leakline"


@dataclass(frozen=True)
class Outcome:
    """A finished `leakline run`: the program's result and the JSON report."""

    returncode: int
    stdout: str
    stderr: str
    report: dict[str, Any]

    def functions(self, *kinds: str) -> set[str]:
        """Return the words in function names on allocation stacks of these kinds."""
        return {
            name
            for finding in self.report["findings"]
            if finding["kind"] in kinds
            for frame in finding["allocation"]["frames"]
            for name in re.findall(r"\w+", frame["function"])
        }


@pytest.fixture(scope="session")
def build(shared_folder: Path) -> Callable[..., Path]:
    """Return a function that compiles one program once per set of flags."""
    folder = shared_folder / "programs"
    folder.mkdir(exist_ok=True)

    def compile_program(name: str, *flags: str) -> Path:
        key = hashlib.sha256(repr((name, flags)).encode()).hexdigest()[:12]
        target = folder / f"{key}-{Path(name).stem}"
        if not target.exists():
            # Workers may compile the same program at a time: the name appears at once.
            own = target.with_name(f"{target.name}.{os.getpid()}")
            compiler = ["g++", "-std=c++17"] if name.endswith(".cpp") else ["gcc"]
            command = [*compiler, "-g", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE"]
            command += [*flags, str(PROGRAMS / name), "-o", str(own), "-pthread"]
            subprocess.run(command, check=True, timeout=120)
            own.replace(target)
        return target

    return compile_program


def watch_in(
    folder: Path,
    command: Sequence[str | Path],
    *options: str,
    env: dict[str, str] | None = None,
) -> Outcome:
    """Run a command under `leakline run`, with the report in a folder."""
    report = folder / "report.json"
    prefix: list[str | Path] = [LEAKLINE, "run", "--format", "json"]
    done = subprocess.run(
        [*prefix, "--report-file", report, *options, "--", *command],
        check=False,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=120,
        env={**os.environ, **(env or {})},
    )
    assert report.exists(), done.stderr
    return Outcome(
        done.returncode, done.stdout, done.stderr, json.loads(report.read_text())
    )


@pytest.fixture
def watch(tmp_path: Path) -> Callable[..., Outcome]:
    """Return a function that runs a command under `leakline run`."""
    return partial(watch_in, tmp_path)
