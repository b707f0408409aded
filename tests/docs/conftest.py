"""A place where the commands of the documentation work as they stand."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from .pages import ROOT

BIN = Path(sys.executable).parent

MAKEFILE = """\
.PHONY: all
all:
\tgcc -g -O1 -o prog src/foo.c
"""
SUPPRESSIONS = """\
{
   a-known-leak
   Memcheck:Leak
   ...
   fun:parse_item
   ...
}
"""

Run = Callable[[str], subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Return a function that runs a command in a project of its own."""
    make_project(tmp_path)
    home = Path(os.environ.get("HOME", "/"))
    env = {
        **os.environ,
        "PATH": f"{BIN}:{os.environ['PATH']}",
        "HOME": str(tmp_path / "home"),
        "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(home / ".cache")),
        "GOCACHE": str(home / ".cache/go-build"),
        "COLUMNS": "88",
    }

    def run_command(command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", command],
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            cwd=tmp_path,
            env=env,
        )

    return run_command


def make_project(folder: Path) -> None:
    """The example as `./prog` with its source in `src`, and a checkout beside it."""
    shutil.copytree(ROOT / "examples", folder / "examples")
    shutil.copytree(ROOT / "tests/programs", folder / "tests/programs")
    (folder / "src").mkdir()
    shutil.copy(ROOT / "examples/inventory/inventory.c", folder / "src/foo.c")
    (folder / "build/demo").mkdir(parents=True)
    (folder / "home").mkdir()
    (folder / "Makefile").write_text(MAKEFILE)
    (folder / "known.supp").write_text(SUPPRESSIONS)
    source = "examples/inventory/inventory.c"
    command = ["gcc", "-g", "-O2", source, "-o", "build/demo/inventory"]
    subprocess.run(command, check=True, cwd=folder)
    compile_prog = ["gcc", "-g", "-O1", "-o", "prog", "src/foo.c"]
    subprocess.run(compile_prog, check=True, cwd=folder)
    unit = {"directory": str(folder), "file": "src/foo.c", "arguments": compile_prog}
    (folder / "build/compile_commands.json").write_text(json.dumps([unit]))
