"""Removes each guard of lens `pages` once and sees that its test fails then.

Builds the runtime in a scratch folder; takes about ten minutes for all guards.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
TABLE = Path(__file__).parent / "guards.toml"
BUILT = ("native", "CMakeLists.txt", "CMakePresets.json")


@dataclass(frozen=True, slots=True)
class Guard:
    """One row of the table, see there."""

    trap: str
    file: str
    guard: str
    without: str
    test: str

    @property
    def is_native(self) -> bool:
        """Whether its test is a program of its own."""
        return "::" not in self.test


def read_guards() -> list[Guard]:
    """Return the table."""
    return [Guard(**row) for row in tomllib.loads(TABLE.read_text())["guards"]]


def main() -> int:
    """Try the guards whose trap has some word in it, and say which were missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("word", nargs="?", default="")
    word = parser.parse_args().word
    guards = [guard for guard in read_guards() if word in guard.trap]
    with tempfile.TemporaryDirectory(prefix="leakline-guards-") as folder:
        scratch = Path(folder)
        _copy_sources(scratch)
        missed = [guard for guard in guards if not _is_noticed(guard, scratch)]
    print(f"{len(guards) - len(missed)} of {len(guards)} are noticed")
    return 1 if missed else 0


def _copy_sources(scratch: Path) -> None:
    for name in BUILT:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, scratch / name)
        else:
            shutil.copy(ROOT / name, scratch)
    _run(["cmake", "--preset", "dev"], scratch, "the build cannot be set up")


def _is_noticed(guard: Guard, scratch: Path) -> bool:
    _build(guard, scratch)
    if not _passes(guard, scratch):
        sys.exit(f"{guard.test} fails with the guard of “{guard.trap}”, too")
    source = scratch / "native/runtime" / guard.file
    whole = source.read_text()
    if whole.count(guard.guard) != 1:
        sys.exit(f"{guard.file} does not have the guard of “{guard.trap}” once")
    source.write_text(whole.replace(guard.guard, guard.without))
    _build(guard, scratch)
    is_noticed = not _passes(guard, scratch)
    print(f"{'noticed' if is_noticed else 'MISSED':8} {guard.trap}", flush=True)
    source.write_text(whole)
    return is_noticed


def _build(guard: Guard, scratch: Path) -> None:
    target = guard.test if guard.is_native else "leakline"
    _run(
        ["cmake", "--build", "--preset", "dev", "--target", target],
        scratch,
        f"it does not compile with or without the guard of “{guard.trap}”",
    )


def _run(command: list[str], folder: Path, trouble: str) -> None:
    done = subprocess.run(
        command, cwd=folder, capture_output=True, check=False, text=True
    )
    if done.returncode != 0:
        sys.exit(f"{trouble}:\n{done.stdout}{done.stderr}")


def _passes(guard: Guard, scratch: Path) -> bool:
    built = scratch / "build/dev/native"
    if guard.is_native:
        command = [str(built / guard.test)]
    else:
        test = ROOT / "tests/system" / guard.test
        command = [sys.executable, "-m", "pytest", "-q", "-n", "0", str(test)]
    environment = {**os.environ, "LEAKLINE_RUNTIME": str(built / "libleakline.so")}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, check=False
    )
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
