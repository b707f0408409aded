"""What `/proc` tells about a process that may be watched."""

import os
import re
from errno import EINVAL, ESRCH
from pathlib import Path

from leakline.errors import ProgramError

RUNTIME_NAME = "libleakline.so"

_PROC = Path("/proc")


def open_process(pid: int) -> int:
    """A descriptor that means this very process, even if its id is used again.

    Raises:
        ProgramError: There is no such process.
    """
    try:
        return os.pidfd_open(pid)
    except (OSError, OverflowError) as error:
        # EINVAL stands for 0 and for ids beyond the largest.
        if isinstance(error, OSError) and error.errno not in (ESRCH, EINVAL):
            raise ProgramError(f"process {pid}: {error.strerror}") from None
        raise ProgramError(f"there is no process {pid}") from None


def refuse_unwatched(pid: int, signal_number: int) -> None:
    """Makes sure that a request would be understood; anyone else it would kill.

    Raises:
        ProgramError: The process is not ours, or no runtime waits in it.
    """
    try:
        status = (_PROC / str(pid) / "status").read_text(errors="replace")
        has_runtime = _maps_runtime(pid)
    except PermissionError:
        raise ProgramError(
            f"process {pid} may not be inspected; run leakline as its user or as root"
        ) from None
    except OSError:
        raise ProgramError(f"there is no process {pid} any more") from None
    if not has_runtime:
        raise ProgramError(
            f"process {pid} is not watched; start it with `leakline run`, or with the "
            "environment that `leakline preload` prints"
        )
    if not catches(status, signal_number):
        raise ProgramError(
            f"process {pid} does not answer: it took over signal {signal_number}, "
            "which asks for snapshots (the option stop_signal chooses another)"
        )


def catches(status: str, signal_number: int) -> bool:
    """Whether a `/proc/PID/status` shows a handler for the signal."""
    match = re.search(r"^SigCgt:\s*([0-9a-fA-F]+)", status, re.MULTILINE)
    return bool(match and int(match[1], 16) >> (signal_number - 1) & 1)


def environment_of(pid: int) -> dict[str, str]:
    """The environment the process was started with, as far as it is still there.

    A program may have written over it (as servers do that show a title in `ps`).
    """
    try:
        content = (_PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return {}
    pairs = (os.fsdecode(entry).partition("=") for entry in content.split(b"\0"))
    return {name: value for name, equals, value in pairs if equals}


def path_seen_by(pid: int, path: str) -> Path:
    """A path of the process as this process can open it, also from a container."""
    here = Path(path)
    there = Path(f"{_PROC}/{pid}/root{path}")
    return here if here.exists() or not there.exists() else there


def _maps_runtime(pid: int) -> bool:
    with (_PROC / str(pid) / "maps").open(errors="replace") as maps:
        return any(line.rstrip("\n").endswith(f"/{RUNTIME_NAME}") for line in maps)
