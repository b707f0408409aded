"""Why a program may run unwatched: what its file tells."""

import os
import shutil
import stat
from pathlib import Path

from leakline.symbols.elf import ElfError, open_regular, read_elf

SCRIPT_MARK = b"#!"
LINE_LIMIT = 256


def why_unseen(path: str) -> str:
    """The reason a program could not be watched, in words; empty when none shows."""
    # A program that was searched for in PATH is recorded by its bare name.
    found = path if "/" in path else shutil.which(path)
    file = Path(found or path)
    try:
        mode = file.stat().st_mode
        with open_regular(file) as opened:
            head = opened.read(LINE_LIMIT)
    except (OSError, ValueError):
        return "its file cannot be read"
    if head.startswith(SCRIPT_MARK):
        return _why_script(head)
    if mode & (stat.S_ISUID | stat.S_ISGID) or _has_capabilities(file):
        return (
            "it gains privileges when it starts (setuid), so nothing is loaded into it"
        )
    return _why_image(file, head)


def _why_script(head: bytes) -> str:
    words = head.removeprefix(SCRIPT_MARK).split(b"\n")[0].split()
    interpreter = words[0].decode("utf-8", "replace") if words else ""
    try:
        with open_regular(Path(interpreter)) as opened:
            inner = opened.read(LINE_LIMIT)
    except (OSError, ValueError):
        return "it is a script whose interpreter cannot be read"
    reason = _why_image(Path(interpreter), inner)
    return f"it is a script for {interpreter}, and {reason}" if reason else ""


def _has_capabilities(path: Path) -> bool:
    try:
        return bool(os.getxattr(path, "security.capability"))
    except OSError:
        return False


def _why_image(file: Path, head: bytes) -> str:
    if not head.startswith(b"\x7fELF"):
        return "it is no ELF program"
    try:
        elf = read_elf(file)
    except ElfError as error:
        return str(error)
    return "" if elf.has_interpreter else "it is a static executable"
