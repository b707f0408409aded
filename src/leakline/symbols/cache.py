"""Keeps prepared symbol files between reports, in a folder only the user can change."""

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

from leakline.folders import private_cache

SIZE_LIMIT_BYTES = 512 << 20


def cache_folder() -> Path | None:
    """The folder, made when missing; None when there is no safe one."""
    return private_cache("symbols")


def cache_key(path: Path, build_id: bytes, version: int) -> str:
    """Name of the entry for a debug file as it is now.

    The build-id alone would not do: a file may claim the build-id of another.
    """
    state = path.stat()
    identity = f"{path.resolve()}\0{state.st_size}\0{state.st_mtime_ns}\0{version}"
    digest = sha256(identity.encode("utf-8", "surrogateescape")).hexdigest()
    return f"{build_id.hex()[:40] or 'none'}-{digest[:24]}"


def find_entry(folder: Path, key: str) -> Path | None:
    """The entry's file, None when there is none. Marks it as used."""
    path = folder / key
    try:
        os.utime(path, follow_symlinks=False)
    except OSError:
        return None
    return path


def add_entry(folder: Path, key: str, write: Callable[[BinaryIO], None]) -> None:
    """Adds an entry; readers see all of it or nothing. A full disk is no error."""
    with suppress(OSError):
        descriptor, name = tempfile.mkstemp(dir=folder, prefix="new-")
        temporary = Path(name)
        try:
            with os.fdopen(descriptor, "wb") as file:
                write(file)
            temporary.replace(folder / key)
        finally:
            temporary.unlink(missing_ok=True)
        _forget_oldest(folder)


def _forget_oldest(folder: Path) -> None:
    states = sorted(
        ((entry.stat().st_mtime_ns, entry.stat().st_size, entry.path))
        for entry in os.scandir(folder)
        if entry.is_file(follow_symlinks=False)
    )
    total = sum(size for _, size, _ in states)
    for _, size, path in states:
        if total <= SIZE_LIMIT_BYTES:
            return
        Path(path).unlink(missing_ok=True)
        total -= size
