"""The allocation functions give a program exactly what it gets without Leakline."""

from collections.abc import Callable
from pathlib import Path

import pytest

from leakline.recording._format import ProcessEndRecord

from .preload import run_both_ways

# The compiler may neither judge nor remove the calls that the programs are about.
FLAGS = ("-fno-builtin", "-Wno-use-after-free")


@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize(
    "program",
    ["allocation_results.c", "allocation_new.cpp", "allocation_exhausted.c"],
)
def test_same_results(
    program: str, level: str, build: Callable[..., Path], tmp_path: Path
) -> None:
    recorded = run_both_ways([build(program, level, *FLAGS)], tmp_path)
    assert len(recorded.of(ProcessEndRecord)) == 1
