"""Where a run keeps its recording, and how reports are written to files."""

from __future__ import annotations

import os
import stat

from leakline.errors import UsageError
from leakline.recording.create import create_recording

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_NAME = "recording.leakline"


class RecordingPlace:
    """The recording of one run: a file the user named, or one in a private folder.

    A private folder is removed by `discard`; a file the user named stays.
    """

    def __init__(self, named: str | None, environment: Mapping[str, str]) -> None:
        self.folder = None if named else _private_folder(environment)
        self.path = _absolute(named or f"{self.folder}/{_NAME}")
        try:
            create_recording(self.path)
        except BaseException:
            self.discard()
            raise

    def discard(self) -> None:
        """Removes the recording, unless the user asked for it."""
        if self.folder is not None:
            self.remove()

    def remove(self) -> None:
        """Removes the recording, wherever it is: nothing was recorded in it."""
        from contextlib import suppress

        # The program itself may have removed them, or put something beside them.
        with suppress(OSError):
            os.unlink(self.path)
        if self.folder is not None:
            with suppress(OSError):
                os.rmdir(self.folder)

    def keep(self) -> None:
        """Lets the recording stay, wherever it is."""
        self.folder = None


def write_report_file(path: str, content: bytes) -> None:
    """Writes a report where the user asked, readable by the user only when new.

    In a folder that others can write to, a link in place of the file is not followed.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
    if _is_shared(os.path.dirname(_absolute(path))):
        flags |= os.O_NOFOLLOW
    try:
        with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
            file.write(content)
    except OSError as error:
        raise UsageError(
            f"the report file {path} cannot be written: {error.strerror}"
        ) from None


def refuse_unwritable(path: str) -> None:
    """Raises a `UsageError` when a report could not be written there later."""
    target = path if os.path.exists(path) else os.path.dirname(_absolute(path))
    if os.path.isdir(path):
        raise UsageError(f"the report file {path} is a folder")
    if not os.access(target, os.W_OK):
        raise UsageError(
            f"the report file {path} cannot be written: make {target} first, or name "
            "another file"
        )


def _private_folder(environment: Mapping[str, str]) -> str:
    """Makes a folder with a name nobody can guess, open to this user only."""
    name = f"leakline-{os.urandom(12).hex()}"
    problem = None
    for base in _bases(environment):
        folder = f"{_absolute(base)}/{name}"
        try:
            os.mkdir(folder, mode=0o700)
        except OSError as error:
            problem = error
        else:
            return folder
    raise UsageError(
        "no folder for the recording can be made "
        f"({problem.strerror if problem else 'nowhere to look'}); "
        "name a file with -o, or a folder with TMPDIR"
    )


def _bases(environment: Mapping[str, str]) -> list[str]:
    named = [environment.get("XDG_STATE_HOME"), environment.get("TMPDIR")]
    return [base for base in (*named, "/tmp", "/var/tmp") if base]  # noqa: S108 (a fresh private folder is made inside)


def _absolute(path: str) -> str:
    try:
        return os.path.abspath(path)
    except OSError:
        raise UsageError(
            f"{path} is named relative to a folder that was removed; name it in full"
        ) from None


def _is_shared(folder: str) -> bool:
    try:
        return bool(os.stat(folder).st_mode & (stat.S_IWGRP | stat.S_IWOTH))
    except OSError:
        return False
