"""Results of checked components, kept by content between runs.

The key of a component names its functions' bodies, what they see of their
surroundings, the models and options, the content of its callees' summaries, and the
checker itself. When an edited function's summary stays the same, its callers are not
checked again.
"""

import hashlib
import pickle
import sqlite3
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from leakline.static.component import Checker
from leakline.static.content import content_digest
from leakline.static.engine.function import Checked
from leakline.static.surroundings import ProgramSurroundings

_MOST_ROWS = 200_000


class Kept(NamedTuple):
    """A component's result, and the digests that name its summaries' content."""

    checked: dict[str, Checked]
    digests: dict[str, bytes]


class SummaryCache:
    """A database file, or nothing when there is no folder for it."""

    def __init__(self, folder: Path | None) -> None:
        self._database = None if folder is None else _open(folder)
        self._base: bytes | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._database is not None:
            self._database.commit()
            self._database.close()

    def key(
        self, checker: Checker, ids: tuple[str, ...], digests: Mapping[str, bytes]
    ) -> bytes:
        """Names all that the component's result depends on."""
        if self._database is None:
            return b""
        if self._base is None:
            options = repr(checker.options).encode()
            named = _code_digest() + options + checker.models.digest()
            self._base = hashlib.blake2b(named).digest()
        seen = hashlib.blake2b(self._base, digest_size=20)
        for name in ids:
            entry = checker.program.functions[name]
            world = ProgramSurroundings(checker.program, checker.models, entry, {})
            seen.update(repr(name).encode() + world.digest())
            for callee in checker.program.callees(name):
                seen.update(digests.get(callee, b""))
        return seen.digest()

    def get(self, key: bytes) -> Kept | None:
        """The result kept under a key."""
        if self._database is None:
            return None
        query = "SELECT content FROM results WHERE key = ?"
        row = self._database.execute(query, (key,)).fetchone()
        # The file lies in the user's own folder, which only the user can write.
        return None if row is None else Kept(*pickle.loads(row[0]))  # noqa: S301

    def put(self, key: bytes, checked: dict[str, Checked]) -> Kept:
        """Keep a result; without a database nothing needs to be named."""
        if self._database is None:
            return Kept(checked, {})
        kept = Kept(
            checked,
            {name: content_digest(found.summary) for name, found in checked.items()},
        )
        if any(found.unseen for found in checked.values()):
            return kept  # the next check may have better luck
        command = "INSERT OR REPLACE INTO results VALUES (?, ?)"
        content = pickle.dumps(tuple(kept), protocol=5)
        self._database.execute(command, (key, content))
        return kept


@cache
def _code_digest() -> bytes:
    """Names this version of the checker: what others kept has another meaning."""
    seen = hashlib.blake2b()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        seen.update(path.read_bytes())
    return seen.digest()


def _open(folder: Path) -> sqlite3.Connection | None:
    """The database; None when it cannot be used, for it only saves time."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        database = sqlite3.connect(folder / "results.sqlite")
        database.execute("PRAGMA synchronous = OFF")
        database.execute(
            "CREATE TABLE IF NOT EXISTS results (key BLOB PRIMARY KEY, content BLOB)"
        )
        (rows,) = database.execute("SELECT count(*) FROM results").fetchone()
        if rows > _MOST_ROWS:
            database.execute("DELETE FROM results")
    except (OSError, sqlite3.Error):
        return None
    return database
