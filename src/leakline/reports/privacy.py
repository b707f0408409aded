"""What a report that leaves the house may hold: source text, and parts of paths."""

import re
from dataclasses import dataclass
from pathlib import Path

from leakline.reports.places import relative_path
from leakline.reports.printable import printable


@dataclass(frozen=True, slots=True)
class Privacy:
    """What the reader of the report may see.

    Attributes:
        folder: Files below it are named relative to it.
        strip: Beginnings of paths that are taken away wherever they occur.
        with_source: Source text is embedded.
    """

    folder: Path
    strip: tuple[str, ...] = ()
    with_source: bool = True

    def path(self, path: str) -> str:
        """A path as the reader may see it."""
        stripped = self.stripped(path)
        if stripped != path:
            return printable(stripped)
        return printable(relative_path(path, self.folder))

    def text(self, text: str) -> str:
        """A command word, name or sentence, which may hold paths anywhere."""
        return printable(self.stripped_text(text))

    def stripped(self, path: str) -> str:
        """A path without the beginning that is to be taken away."""
        for prefix in self._prefixes():
            if path.startswith(f"{prefix}/") and len(path) > len(prefix) + 1:
                return path[len(prefix) + 1 :]
        return path

    def stripped_text(self, text: str) -> str:
        """A text without such beginnings, wherever they occur in it."""
        for prefix in self._prefixes():
            text = text.replace(f"{prefix}/", "")
            text = re.sub(rf"{re.escape(prefix)}(?![\w-])", ".", text)
        return text

    def _prefixes(self) -> list[str]:
        """Longest first, so that a folder goes before the folder that holds it."""
        prefixes = {prefix.rstrip("/") for prefix in self.strip}
        return sorted(prefixes, key=lambda prefix: (-len(prefix), prefix))
