"""Facts by content: of the compiler, its options, the source and every header it read.

A *request* names what is known before compiling (compiler, plugin, options, folder,
source). Its manifest lists the files that an earlier compilation read, with hashes of
their content; when all are unchanged, its facts still hold.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from leakline.static.cache import write_atomically

# A source keeps facts for so many states of its headers (branches, configurations).
MAX_VARIANTS = 4
# Facts, the bulk of the cache, lie apart from what must not be trimmed.
FACTS_FOLDER = "facts"


@dataclass(frozen=True, slots=True)
class _Variant:
    """Facts and the files, with hashes, that they were made from."""

    facts: str
    files: tuple[tuple[str, str], ...]


class FactsCache:
    """Facts files in a folder; content of files is hashed once for each run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._hashes: dict[str, str] = {}

    def find(self, request: str) -> Path | None:
        """Facts that still hold for a request."""
        for variant in self._variants(request):
            if all(self._hash(name) == digest for name, digest in variant.files):
                path = self._facts_path(variant.facts)
                if path.is_file():
                    with contextlib.suppress(OSError):
                        os.utime(path)  # what is used is not the oldest
                    return path
        return None

    def store(self, request: str, files: Iterable[str], facts: bytes) -> Path:
        """Keep facts together with the files they were made from."""
        name = hashlib.blake2b(facts, digest_size=20).hexdigest()
        path = self._facts_path(name)
        write_atomically(path, facts)
        variant = _Variant(name, tuple((file, self._hash(file)) for file in files))
        others = [v for v in self._variants(request) if v.files != variant.files]
        rows = [[v.facts, v.files] for v in (variant, *others)][:MAX_VARIANTS]
        write_atomically(self._manifest_path(request), json.dumps(rows).encode())
        return path

    def _variants(self, request: str) -> list[_Variant]:
        try:
            rows = json.loads(self._manifest_path(request).read_bytes())
            return [
                _Variant(facts, tuple((name, digest) for name, digest in files))
                for facts, files in rows
            ]
        except (OSError, ValueError, TypeError):
            return []

    def _hash(self, name: str) -> str:
        if name not in self._hashes:
            try:
                content = Path(name).read_bytes()
                self._hashes[name] = hashlib.blake2b(
                    content, digest_size=20
                ).hexdigest()
            except OSError:
                self._hashes[name] = "absent"
        return self._hashes[name]

    def _facts_path(self, name: str) -> Path:
        return self._folder / FACTS_FOLDER / name[:2] / f"{name}.facts"

    def _manifest_path(self, request: str) -> Path:
        return self._folder / "manifests" / request[:2] / f"{request}.json"
