"""Removes plans that nobody uses any more: of programs long gone, of other versions.

A plan that a process has mapped stays whole for it when its file goes, and a run that
finds none says so; so runs need not wait for each other.
"""

import contextlib
import os
import time
from pathlib import Path

from leakline.patching.kinds import PlanKind

_DAY_S = 24 * 60 * 60

# How long a plan is kept after its last use. What only another version of Leakline can
# use, or what an interrupted one left behind, goes sooner.
KEPT_S = 30 * _DAY_S
FOREIGN_KEPT_S = 2 * _DAY_S


def remove_unused(folder: Path) -> None:
    """Remove the plans in a folder that have not been used for long."""
    now = time.time()
    with os.scandir(folder) as entries:
        for entry in entries:
            # Another run may remove it at the same time.
            with contextlib.suppress(OSError):
                if now - _last_use(entry) > _kept_s(entry.name):
                    Path(entry.path).unlink()


def note_use(plan: Path) -> None:
    """Note that a run is about to use a plan, also where reading leaves no trace."""
    with contextlib.suppress(OSError):
        if time.time() - plan.stat().st_mtime > _DAY_S:
            os.utime(plan)


def _last_use(entry: os.DirEntry[str]) -> float:
    """When a file was used; now for anything that is no file."""
    if not entry.is_file(follow_symlinks=False):
        return time.time()
    state = entry.stat(follow_symlinks=False)
    return max(state.st_mtime, state.st_atime)


def _kept_s(name: str) -> int:
    _, _, suffix = name.partition(".")
    is_ours = any(f".{suffix}" == kind.suffix for kind in PlanKind)
    return KEPT_S if is_ours else FOREIGN_KEPT_S
