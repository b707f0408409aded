"""The clang that compiles, and the plugin that was built for it."""

from __future__ import annotations

import os

from leakline.errors import CompileError

# The versions that the plugin is written for; the best one comes first.
LLVM_MAJORS = (19, 16)
OVERRIDE = "LEAKLINE_CLANG"
_VERSIONS = " or ".join(map(str, LLVM_MAJORS))
_NATIVE = os.path.join(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "_native"
)


class Compiler:
    """A clang and what makes it note losses.

    Attributes:
        major: Its version.
        plugin: None when Leakline was installed without one for this version.
    """

    __slots__ = ("major", "path", "plugin")

    def __init__(self, path: str, major: int, plugin: str | None) -> None:
        self.path = path
        self.major = major
        self.plugin = plugin


def find_compiler(driver: str) -> Compiler:
    """Find clang of a version that has a plugin; `driver` is `clang` or `clang++`.

    Raises:
        CompileError: There is none, or the user names another version.
    """
    wanted = os.environ.get(OVERRIDE)
    path, major = _named(wanted, driver) if wanted else _installed(driver)
    return Compiler(path, major, _plugin(major))


def _plugin(major: int) -> str | None:
    path = os.path.join(_NATIVE, f"llvm-{major}", "leakline_stamps.so")
    return path if os.path.isfile(path) else None


def _installed(driver: str) -> tuple[str, int]:
    for major in sorted(LLVM_MAJORS, key=lambda major: _plugin(major) is None):
        path = _of_version(driver, major)
        if path:
            return path, major
    raise CompileError(
        f"no {driver} {_VERSIONS} was found, which `leakline cc` compiles with; "
        f"install it (Debian package clang-{LLVM_MAJORS[0]}) or name it in {OVERRIDE}"
    )


def _of_version(driver: str, major: int) -> str | None:
    usual = f"/usr/lib/llvm-{major}/bin/{driver}"
    if os.access(usual, os.X_OK):
        return usual
    import shutil

    versioned = shutil.which(f"{driver}-{major}")
    if versioned:
        return versioned
    unversioned = shutil.which(driver)
    return unversioned if unversioned and _major(unversioned) == major else None


def _named(wanted: str, driver: str) -> tuple[str, int]:
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
    if major not in LLVM_MAJORS:
        what = f"clang {major}" if major else "no clang"
        raise CompileError(
            f"{OVERRIDE} names {path}, which is {what}; the plugin of `leakline cc` "
            f"works with clang {_VERSIONS} only"
        )
    return found, major


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
