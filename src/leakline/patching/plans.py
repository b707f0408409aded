"""The plans on disk: made once per module, in a folder only the user can change."""

import os
import stat
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

from leakline.errors import ProgramError
from leakline.patching.module import PlanError, make_plan
from leakline.patching.plan_file import SUFFIXES, is_sound, serialise
from leakline.symbols.elf import ElfError, read_elf

Progress = Callable[[str, int, int], None]

# Listing what a program loads only runs its loader.
_LISTING_TIMEOUT_S = 20


class Prepared(NamedTuple):
    """The folder of plans, and why some modules have none."""

    folder: Path
    unplanned: tuple[str, ...]


def prepare(
    modules: Sequence[Path],
    progress: Progress | None = None,
    *,
    births: bool = False,
) -> Prepared:
    """Make the plans of modules that have none, or none that can be used.

    Args:
        modules: Programs and libraries.
        progress: Called with what is done, how many are done, and how many there are.
        births: The plans shall note where references are created, too.

    Raises:
        ProgramError: There is no folder for plans that only the user can write to.
    """
    folder = plan_folder()
    missing = [path for path in modules if not _has_plan(folder, path, births)]
    if not missing:
        return Prepared(folder, ())
    unplanned = []
    with ProcessPoolExecutor(max_workers=os.cpu_count()) as pool:
        jobs = [(folder, path, births) for path in missing]
        results = pool.map(_make, *zip(*jobs, strict=True))
        for done, (path, problem) in enumerate(zip(missing, results, strict=True), 1):
            if problem:
                unplanned.append(f"{path}: {problem}")
            if progress is not None:
                progress("planning patches", done, len(missing))
    return Prepared(folder, tuple(unplanned))


def plan_folder() -> Path:
    """Return the folder, made when missing.

    Raises:
        ProgramError: Others can write to it: a plan is code that will be run.
    """
    base = os.environ.get("XDG_CACHE_HOME", "")
    home = Path(base) if base.startswith("/") else Path.home() / ".cache"
    folder = home / "leakline" / "plans"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ProgramError(
            f"{folder}: no folder for patch plans can be made: {error.strerror}"
        ) from None
    for path in (folder, folder.parent):
        state = path.lstat()
        own = stat.S_ISDIR(state.st_mode) and state.st_uid == os.geteuid()
        if not own or state.st_mode & 0o022:
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
            [program],
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


def _has_plan(folder: Path, module: Path, births: bool) -> bool:
    try:
        build_id = read_elf(module).build_id
        path = folder / f"{build_id.hex()}{SUFFIXES[births]}"
        return (
            bool(build_id)
            and _is_ours(path)
            and is_sound(path, build_id, births=births)
        )
    except (ElfError, OSError):
        return False


def _is_ours(plan: Path) -> bool:
    state = plan.lstat()
    own = stat.S_ISREG(state.st_mode) and state.st_uid == os.geteuid()
    return own and not state.st_mode & 0o022


def _make(folder: Path, module: Path, births: bool) -> str:
    """Make one plan; return why not, or nothing."""
    try:
        plan = make_plan(module, births=births)
    except PlanError as error:
        return str(error)
    content = serialise(plan)
    descriptor, temporary = tempfile.mkstemp(dir=folder, prefix="new-")
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    Path(temporary).rename(folder / f"{plan.build_id.hex()}{SUFFIXES[births]}")
    return ""
