"""The plans on disk: made once per module, in a folder only the user can change."""

import os
import stat
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from leakline.errors import ProgramError
from leakline.folders import cache_path, is_private
from leakline.patching.expiry import note_use, remove_unused
from leakline.patching.kinds import PlanKind
from leakline.patching.source import PlanError
from leakline.symbols.elf import ElfError, read_elf
from leakline.workers import worker_processes

Progress = Callable[[str, int, int], None]

# Listing what a program loads only runs its loader.
_LISTING_TIMEOUT_S = 20


class Prepared(NamedTuple):
    """The folder of plans, and why some modules have none."""

    folder: Path
    unplanned: tuple[str, ...]


class Wanted(NamedTuple):
    """A plan that a run needs."""

    kind: PlanKind
    module: Path


def prepare(plans: Sequence[Wanted], progress: Progress | None = None) -> Prepared:
    """Make the plans of modules that have none, or none that can be used.

    Raises:
        ProgramError: There is no folder for plans that only the user can write to.
    """
    folder = plan_folder()
    missing = [plan for plan in plans if not _has_plan(folder, plan)]
    if not missing:
        return Prepared(folder, ())
    unplanned = []
    with worker_processes() as pool:
        results = pool.map(_make, [folder] * len(missing), missing)
        for done, (plan, problem) in enumerate(zip(missing, results, strict=True), 1):
            if problem:
                unplanned.append(f"{plan.module}: {problem}")
            if progress is not None:
                progress("planning patches", done, len(missing))
    remove_unused(folder)
    return Prepared(folder, tuple(dict.fromkeys(unplanned)))


def plan_folder() -> Path:
    """Return the folder, made when missing.

    Raises:
        ProgramError: It cannot be made, or others can write to it: a plan is code
            that will be run.
    """
    try:
        folder = cache_path() / "plans"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, RuntimeError) as error:
        raise ProgramError(
            f"no folder for patch plans can be made ({error}); set XDG_CACHE_HOME to a "
            "folder that you can write to"
        ) from None
    for path in (folder, folder.parent):
        if not is_private(path):
            raise ProgramError(
                f"{path}: others can write to this folder of patch plans, which are"
                " code; make it yours alone (chmod 700) or set XDG_CACHE_HOME"
            )
    return folder


def modules_of(program: Path) -> list[Path]:
    """Return a program and the libraries its loader would map, without the loader."""
    modules = [program.resolve()]
    environment = {**os.environ, "LD_TRACE_LOADED_OBJECTS": "1"}
    environment.pop("LD_PRELOAD", None)
    try:
        listing = subprocess.run(
            [program.absolute()],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=_LISTING_TIMEOUT_S,
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return modules
    for line in listing.splitlines():
        name, arrow, place = line.strip().partition(" => ")
        path = Path((place if arrow else name).split(" (0x")[0])
        if path.is_absolute() and not path.name.startswith("ld-linux"):
            modules.append(path.resolve())
    return list(dict.fromkeys(modules))


def _has_plan(folder: Path, plan: Wanted) -> bool:
    try:
        build_id = read_elf(plan.module).build_id
        path = folder / f"{build_id.hex()}{plan.kind.suffix}"
        if not (build_id and _is_ours(path) and plan.kind.is_sound(path, build_id)):
            return False
    except (ElfError, OSError):
        return False
    note_use(path)
    return True


def _is_ours(plan: Path) -> bool:
    state = plan.lstat()
    own = stat.S_ISREG(state.st_mode) and state.st_uid == os.geteuid()
    return own and not state.st_mode & 0o022


def _make(folder: Path, plan: Wanted) -> str:
    """Make one plan; return why not, or nothing."""
    try:
        build_id, content = plan.kind.make(plan.module)
    except PlanError as error:
        return str(error)
    try:
        _keep(content, folder / f"{build_id.hex()}{plan.kind.suffix}")
    except OSError as error:
        return f"it cannot be kept in {folder}: {error.strerror}"
    return ""


def _keep(content: bytes, path: Path) -> None:
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix="new-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        Path(temporary).rename(path)
    except OSError:
        Path(temporary).unlink()
        raise
