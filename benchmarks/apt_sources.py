"""Downloads of package sources, also where apt is told of binary packages only."""

import re
import subprocess
from functools import cache
from pathlib import Path

APT = Path("/etc/apt")
# Our own list of what there is, so that the system's stays as it is.
FOLDER = Path(__file__).parent.parent / "build/apt"


def download_command(package: str) -> list[str]:
    """Return what downloads a package's source into the working folder."""
    return ["apt-get", "-q", *_options(), "source", "--download-only", package]


def sources_only(text: str, *, is_one_line: bool) -> str:
    """Return a list of archives as one of their sources."""
    if is_one_line:
        return re.sub(r"^(\s*)deb(?=\s)", r"\1deb-src", text, flags=re.MULTILINE)
    return re.sub(r"^Types:.*$", "Types: deb-src", text, flags=re.MULTILINE)


@cache
def _options() -> tuple[str, ...]:
    targets = ["apt-get", "indextargets", "Created-By: Sources"]
    known = subprocess.run(targets, check=True, capture_output=True, text=True)
    if known.stdout.strip():
        return ()
    parts = FOLDER / "parts"
    parts.mkdir(parents=True, exist_ok=True)
    for path in (APT / "sources.list", *(APT / "sources.list.d").glob("*")):
        if path.suffix in (".list", ".sources") and path.exists():
            text = sources_only(path.read_text(), is_one_line=path.suffix == ".list")
            (parts / path.name).write_text(text)
    settings = {
        "Dir::Etc::sourcelist": "/dev/null",
        "Dir::Etc::sourceparts": parts,
        "Dir::State::lists": FOLDER / "lists",
        "Dir::Cache": FOLDER / "cache",
    }
    options = tuple(f"-o{name}={value}" for name, value in settings.items())
    (FOLDER / "lists/partial").mkdir(parents=True, exist_ok=True)
    (FOLDER / "cache/archives/partial").mkdir(parents=True, exist_ok=True)
    subprocess.run(
        ["apt-get", "-q", *options, "update"], check=True, capture_output=True
    )
    return options
