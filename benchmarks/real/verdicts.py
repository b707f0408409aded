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
    path = Path(last.file)
    inside = path.is_relative_to(folder)
    return f"{path.relative_to(folder) if inside else path}:{last.line}"


def verdict_of(place: str, verdicts: Mapping[str, str]) -> str:
    """`real`, `false` or `unread`."""
    return verdicts.get(place, UNREAD).partition(":")[0]
