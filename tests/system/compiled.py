"""Compiles texts with `leakline cc` and watches what comes out."""

import json
import subprocess
from pathlib import Path
from typing import Any

from .conftest import LEAKLINE


def compile_file(source: Path, target: Path, *flags: str) -> Path:
    """Compile a C or C++ file; return the program."""
    compiler = "c++" if source.suffix == ".cpp" else "cc"
    flags = ("-w", "-D_GNU_SOURCE", "-pthread", *flags)
    subprocess.run(
        [LEAKLINE, compiler, *flags, source, "-o", target], check=True, timeout=120
    )
    return target


def compile_text(text: str, folder: Path, *flags: str) -> Path:
    """Compile a C file; return the program."""
    source = folder / "program.c"
    source.write_text(text)
    target = folder / f"program{''.join(flags)}"
    subprocess.run(
        [LEAKLINE, "cc", "-w", *flags, source, "-o", target], check=True, timeout=120
    )
    return target


def watch_json(program: Path, folder: Path, *options: str) -> dict[str, Any]:
    """Run a program through lens loss; return the report."""
    report = folder / "report.json"
    options = (*options, "--format", "json", "--report-file", str(report))
    subprocess.run([LEAKLINE, "run", *options, "--", program], check=False, timeout=120)
    loaded: dict[str, Any] = json.loads(report.read_text())
    return loaded
