"""What reading the findings on real code came to, one verdict for each place.

`verdicts.toml` has a table for each package; a key is the file and line where the
defect shows, and its value begins with `real` or `false`, and gives the reason.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path

from leakline.model.finding import Finding

PATH = Path(__file__).parent / "verdicts.toml"
UNREAD = "unread"


def read_verdicts() -> dict[str, dict[str, str]]:
    """The verdicts of each package."""
    verdicts: dict[str, dict[str, str]] = tomllib.loads(PATH.read_text())
    return verdicts


def place_of(finding: Finding, folder: Path) -> str:
    """Where a finding shows: `src/http.c:2251`."""
    last = finding.path[-1]
    return f"{inside(last.file, folder)}:{last.line}"


def inside(file: str, folder: Path) -> Path:
    """The path of a file in a folder; findings have it as seen from here."""
    path = Path(file).absolute()
    return path.relative_to(folder) if path.is_relative_to(folder) else path


def verdict_of(place: str, verdicts: Mapping[str, str]) -> str:
    """`real`, `false` or `unread`."""
    return verdicts.get(place, UNREAD).partition(":")[0]
