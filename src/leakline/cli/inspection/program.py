"""Finds the program a user names and refuses, in a sentence, what cannot be watched."""

from __future__ import annotations

import errno
import os
import stat

from leakline.cli.inspection.elf_header import MAGIC, ElfHeader, NotElfError
from leakline.errors import ProgramError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

GLIBC_LOADER = "ld-linux-x86-64.so.2"

_SANITIZERS = ("libasan.so", "libhwasan.so", "liblsan.so", "libtsan.so")
_SHEBANG_LONGEST = 256
_INTERPRETERS_DEEPEST = 4


def find_program(name: str, search_path: str | None) -> str:
    """The file that a shell would run for `name`.

    Raises:
        ProgramError: There is none, or it may not be executed.
    """
    if not name:
        raise ProgramError("the name of the program is empty")
    candidates = [name] if "/" in name else list(_on_path(name, search_path))
    refused = ""
    for candidate in candidates:
        if os.path.isdir(candidate):
            refused = refused or f"{candidate} is a folder, not a program"
        elif os.access(candidate, os.X_OK):
            return candidate
        elif os.path.lexists(candidate):
            refused = refused or _why_not_executable(candidate)
    raise ProgramError(refused or f"{name}: there is no such program{_here(name)}")


def _here(name: str) -> str:
    """A hint for those who forgot that shells look for programs in the PATH only."""
    is_here = os.path.isfile(name) and os.access(name, os.X_OK)
    return f" in the PATH; ./{name} is one" if "/" not in name and is_here else ""


def refuse_unwatchable(path: str) -> None:
    """Raises a `ProgramError` when the runtime could not be loaded into the program."""
    for watched, script in _interpreter_chain(path):
        reason = why_unwatchable(watched)
        if reason and script:
            raise ProgramError(f"{script} is a script for {watched}, which {reason}")
        if reason:
            raise ProgramError(f"{watched} {reason}")


def why_unwatchable(path: str) -> str:
    """Why the program at `path` cannot be watched, as the end of a sentence, or empty.

    A program whose file cannot be read (mode 0711) is taken to be an ordinary one.
    """
    if _changes_privileges(path):
        return (
            "runs with other privileges than yours (setuid, setgid or capabilities): "
            "the loader ignores preloaded libraries there; run it as the user it "
            "changes to, or watch a copy without those rights"
        )
    try:
        with open(path, "rb") as file:
            return _why_not_this_header(ElfHeader(file))
    except NotElfError:
        return f"is not an ELF program (no sound {MAGIC[1:].decode()} header)"
    except PermissionError:
        return ""
    except OSError as error:
        return f"cannot be read: {error.strerror}"


def notes_losses(path: str) -> bool:
    """Whether `leakline cc` compiled the program."""
    try:
        with open(path, "rb") as file:
            return ElfHeader(file).notes_losses
    except (NotElfError, OSError):
        return False


def interpreter_of_script(path: str) -> str | None:
    """The interpreter that a `#!` line names, or None when there is no such line."""
    try:
        with open(path, "rb") as file:
            start = file.read(_SHEBANG_LONGEST)
    except OSError:
        return None
    if not start.startswith(b"#!"):
        return None
    words = start[2:].split(b"\n", 1)[0].split()
    return os.fsdecode(words[0]) if words else ""


def _on_path(name: str, search_path: str | None) -> Iterator[str]:
    folders = os.defpath if search_path is None else search_path
    for folder in folders.split(":"):
        yield f"{folder or '.'}/{name}"


def _why_not_executable(path: str) -> str:
    try:
        os.stat(path)
    except OSError as error:
        return f"{path}: {os.strerror(error.errno or errno.EIO)}"
    return f"{path} may not be executed: permission denied (chmod +x allows it)"


def _interpreter_chain(path: str) -> Iterator[tuple[str, str]]:
    """The files that exec would follow, each with the script that named it."""
    script = ""
    for _ in range(_INTERPRETERS_DEEPEST):
        interpreter = interpreter_of_script(path)
        if interpreter is None:
            yield path, script
            return
        if not os.access(interpreter, os.X_OK):
            raise ProgramError(
                f"{path} is a script for {interpreter or 'nothing'}, which is not there"
            )
        script, path = path, interpreter
    raise ProgramError(f"{script}: too many interpreters lead to each other")


def _why_not_this_header(header: ElfHeader) -> str:
    if not header.x86_64:
        kind = "a 32-bit program" if header.bits == 32 else "for another processor"  # noqa: PLR2004 (bits)
        return f"is {kind}: only 64-bit x86 programs can be watched"
    if not header.interpreter:
        return (
            "is statically linked: no loader brings the runtime into it; link it "
            "dynamically to watch it"
        )
    if os.path.basename(header.interpreter) != GLIBC_LOADER:
        return (
            f"is started by {header.interpreter}: only programs of the GNU C library "
            f"({GLIBC_LOADER}) can be watched"
        )
    if not os.path.exists(header.interpreter):
        return f"needs the loader {header.interpreter}, which is not there"
    return _why_not_these_libraries(header.needed)


def _why_not_these_libraries(needed: tuple[str, ...]) -> str:
    for library in needed:
        if library.startswith(_SANITIZERS):
            return (
                f"is built with a sanitizer ({library}), which has an allocator of its "
                "own and insists on being loaded first; build it without to watch it"
            )
    return ""


def _changes_privileges(path: str) -> bool:
    status = os.stat(path)
    mode = status.st_mode
    if mode & stat.S_ISUID and status.st_uid != os.geteuid():
        return True
    if mode & stat.S_ISGID and mode & stat.S_IXGRP and status.st_gid != os.getegid():
        return True
    return os.geteuid() != 0 and _has_capabilities(path)


def _has_capabilities(path: str) -> bool:
    try:
        return bool(os.getxattr(path, "security.capability"))
    except OSError:
        return False
