"""Real commands whose output and status must be the same under Leakline."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

# Shell commands with deterministic output.
COMMANDS: list[str] = json.loads(
    (Path(__file__).parent.parent / "tests/programs/real_commands.json").read_text()
)


class Ended(NamedTuple):
    """What others see of a command that has ended."""

    status: int
    output: bytes
    errors: bytes


def make_folder(folder: Path) -> None:
    """Make the folder that commands run in, with what they read."""
    folder.mkdir()
    licence = Path("/usr/share/common-licenses/GPL-3").read_text()
    (folder / "input.txt").write_text(licence * 5)


def run(prefix: list[str], command: str, folder: Path, limit_s: float = 120) -> Ended:
    """Run a command behind some words, in a folder as it was made."""
    shutil.rmtree(folder / "r", ignore_errors=True)
    done = subprocess.run(
        [*prefix, "bash", "-c", command],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=limit_s,
    )
    return Ended(done.returncode, done.stdout, done.stderr)
