"""The clang that replays compilations, and the plugin that fits it."""

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from leakline.errors import CheckError

LLVM_MAJOR = 19
NATIVE = Path(__file__).parents[2] / "_native"


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A compiler whose major version the plugin was built for.

    Attributes:
        identity: Changes whenever the facts it would write may change.
    """

    clang: str
    plugin: Path
    identity: str


def find_toolchain(clang: str | None = None, native: Path = NATIVE) -> Toolchain:
    """Find clang and the plugin; `clang` names a compiler the user wants."""
    plugin = native / f"llvm-{LLVM_MAJOR}" / "leakline_facts.so"
    compiler, version = _wanted(clang) if clang else _installed()
    if not plugin.is_file():
        raise CheckError(
            f"The plugin for clang {LLVM_MAJOR} is not installed ({plugin} is missing);"
            " install a Leakline that was built with it."
        )
    status = plugin.stat()
    identity = f"{version} {status.st_size} {status.st_mtime_ns}"
    return Toolchain(compiler, plugin, identity)


def _wanted(clang: str) -> tuple[str, str]:
    version = _version(clang)
    if version is None:
        raise CheckError(f"{clang} is not a clang that can be run.")
    if _major(version) != LLVM_MAJOR:
        raise CheckError(
            f"{clang} is clang {_major(version)}; the checker's plugin works with clang"
            f" {LLVM_MAJOR} only."
        )
    return clang, version


def _installed() -> tuple[str, str]:
    candidates = [
        shutil.which(f"clang-{LLVM_MAJOR}"),
        f"/usr/lib/llvm-{LLVM_MAJOR}/bin/clang",
        shutil.which("clang"),
    ]
    for candidate in filter(None, candidates):
        version = _version(candidate)
        if version is not None and _major(version) == LLVM_MAJOR:
            return candidate, version
    raise CheckError(
        f"No clang {LLVM_MAJOR} was found, which reads the sources; install it (Debian"
        f" package clang-{LLVM_MAJOR}) or name it with --clang."
    )


def _version(clang: str) -> str | None:
    """First line of `clang --version`, None when it is not a clang."""
    try:
        answer = subprocess.run(
            [clang, "--version"],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    line = answer.stdout.partition("\n")[0]
    return line if answer.returncode == 0 and _major(line) else None


def _major(version: str) -> int | None:
    match = re.search(r"clang version (\d+)", version)
    return int(match.group(1)) if match else None
