"""The user's own folders, where others cannot put anything in between."""

import os
import stat
from pathlib import Path


def cache_path() -> Path:
    """Where this user keeps what can be made again; it need not exist.

    Raises:
        RuntimeError: The user has no home.
    """
    base = os.environ.get("XDG_CACHE_HOME", "")
    home = Path(base) if base.startswith("/") else Path.home() / ".cache"
    return home / "leakline"


def private_cache(name: str = "") -> Path | None:
    """The cache folder or one inside of it, made when missing.

    None when it cannot be made, or when others can write to it.
    """
    try:
        product = cache_path()
        product.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        for folder in (product, product / name):
            folder.mkdir(mode=0o700, exist_ok=True)
            if not is_private(folder):
                return None
        return product / name
    except (OSError, RuntimeError):
        return None


def is_private(folder: Path) -> bool:
    """Whether a folder is the user's and nobody else can write to it."""
    state = folder.lstat()
    own = stat.S_ISDIR(state.st_mode) and state.st_uid == os.geteuid()
    return own and not state.st_mode & 0o022
