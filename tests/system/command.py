"""Runs the installed command, and commands without it."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from .conftest import LEAKLINE

Build = Callable[..., Path]


def leakline(
    *words: str | Path, env: dict[str, str] | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [LEAKLINE, *words],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **(env or {})},
        cwd=cwd,
    )


def plain(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=120
    )
