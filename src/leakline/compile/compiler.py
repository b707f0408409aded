"""The clang that compiles, and the plugin that was built for it."""

from __future__ import annotations

import os

from leakline.errors import CompileError

LLVM_MAJOR = 19
OVERRIDE = "LEAKLINE_CLANG"
_NATIVE = os.path.join(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "_native"
)


class Compiler:
    """A clang and what makes it note losses.

    Attributes:
        plugin: None when Leakline was installed without it.
    """

    __slots__ = ("path", "plugin")

    def __init__(self, path: str, plugin: str | None) -> None:
        self.path = path
        self.plugin = plugin


def find_compiler(driver: str) -> Compiler:
    """Find clang of the plugin's version; `driver` is `clang` or `clang++`.

    Raises:
        CompileError: There is none, or the user names another version.
    """
    wanted = os.environ.get(OVERRIDE)
    path = _checked(wanted, driver) if wanted else _installed(driver)
    plugin = os.path.join(_NATIVE, f"llvm-{LLVM_MAJOR}", "leakline_stamps.so")
    return Compiler(path, plugin if os.path.isfile(plugin) else None)


def _installed(driver: str) -> str:
    usual = f"/usr/lib/llvm-{LLVM_MAJOR}/bin/{driver}"
    if os.access(usual, os.X_OK):
        return usual
    import shutil

    versioned = shutil.which(f"{driver}-{LLVM_MAJOR}")
    if versioned:
        return versioned
    unversioned = shutil.which(driver)
    if unversioned and _major(unversioned) == LLVM_MAJOR:
        return unversioned
    raise CompileError(
        f"no {driver} {LLVM_MAJOR} was found, which `leakline cc` compiles with; "
        f"install it (Debian package clang-{LLVM_MAJOR}) or name it in {OVERRIDE}"
    )


def _checked(wanted: str, driver: str) -> str:
    """The compiler that the user names, or its C++ twin beside it."""
    import re
    import shutil

    path = wanted
    if driver == "clang++" and not re.search(r"\+\+(-\d+)?$", wanted):
        path = re.sub(r"clang(-\d+)?$", r"clang++\1", wanted)
    found = shutil.which(path)
    if found is None:
        raise CompileError(f"{OVERRIDE} names {path}, which is no program")
    major = _major(found)
    if major != LLVM_MAJOR:
        what = f"clang {major}" if major else "no clang"
        raise CompileError(
            f"{OVERRIDE} names {path}, which is {what}; the plugin of `leakline cc` "
            f"works with clang {LLVM_MAJOR} only"
        )
    return found


def _major(path: str) -> int | None:
    import re
    import subprocess

    try:
        answer = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r"clang version (\d+)", answer.stdout)
    return int(match.group(1)) if match else None
