"""The user's cache folder: what can be computed again, kept by content.

Files appear whole or not at all, so that several checks can share the folder.
"""

import contextlib
import os
import tempfile
from pathlib import Path

from leakline.folders import private_cache

# Oldest files go when a folder has grown beyond this.
MAX_BYTES = 2 << 30
KEEP_BYTES = MAX_BYTES * 3 // 4


def user_cache_folder() -> Path | None:
    """The folder, made when needed; None when this user cannot have a safe one."""
    return private_cache()


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that readers see the old content or the new, never a part."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def trim(
    folder: Path, max_bytes: int = MAX_BYTES, keep_bytes: int = KEEP_BYTES
) -> None:
    """Remove the files not used for longest when the folder is too large."""
    files = []
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            status = path.lstat()
            if path.is_file():
                files.append((status.st_mtime_ns, status.st_size, path))
    total = sum(size for _, size, _ in files)
    if total <= max_bytes:
        return
    for _, size, path in sorted(files):
        if total <= keep_bytes:
            return
        with contextlib.suppress(OSError):
            path.unlink()
        total -= size
