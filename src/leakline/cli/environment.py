"""The environment that makes the loader bring the runtime into a program."""

from __future__ import annotations

import os
import re

from leakline.cli.options import (
    VARIABLE,
    format_options,
    parse_options,
    runtime_options,
)
from leakline.errors import ProgramError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

PRELOAD = "LD_PRELOAD"
RUNTIME_OVERRIDE = "LEAKLINE_RUNTIME"
RUNTIME_NAME = "libleakline.so"


def watching_environment(
    caller: Mapping[str, str], options: Mapping[str, str]
) -> dict[str, str]:
    """The caller's environment with the runtime and its options added.

    `options` win over those of the caller; what the caller preloads stays, behind us.
    """
    merged = runtime_options(parse_options(caller.get(VARIABLE, "")))
    merged.update(options)
    return {
        **without_coerced_locale(caller),
        PRELOAD: _preload_text(runtime_library(caller), caller.get(PRELOAD, "")),
        VARIABLE: format_options(merged),
    }


def runtime_library(environment: Mapping[str, str]) -> str:
    """The library that is loaded into programs.

    Installed, it lies beside this package; in a source tree it is where the build
    leaves it; `LEAKLINE_RUNTIME` names another one.

    Raises:
        ProgramError: There is none, or the loader could not take its path.
    """
    override = environment.get(RUNTIME_OVERRIDE)
    candidates = [override] if override else _usual_places()
    for candidate in candidates:
        if os.path.isfile(candidate):
            return _loadable(os.path.abspath(candidate))
    looked = ", ".join(candidates)
    raise ProgramError(
        f"the runtime {RUNTIME_NAME} is not installed (looked for {looked}); "
        "install the leakline wheel again, or build it with `make setup`"
    )


def without_coerced_locale(environment: Mapping[str, str]) -> dict[str, str]:
    """Takes out the LC_CTYPE that Python sets for itself in the C locale.

    The program would otherwise run in another locale than it does without us.
    """
    kept = dict(environment)
    if "LC_CTYPE" in kept and not _given_at_start(b"LC_CTYPE"):
        del kept["LC_CTYPE"]
    return kept


def _given_at_start(variable: bytes) -> bool:
    """Whether this process got the variable from whoever started it."""
    try:
        with open("/proc/self/environ", "rb") as file:
            initial = file.read()
    except OSError:
        return True
    return any(line.startswith(variable + b"=") for line in initial.split(b"\0"))


def _usual_places() -> list[str]:
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    tree = os.path.dirname(os.path.dirname(package))
    return [
        f"{package}/_native/{RUNTIME_NAME}",
        f"{tree}/build/dev/native/{RUNTIME_NAME}",
    ]


def _loadable(path: str) -> str:
    # The loader splits LD_PRELOAD at both and knows no escape.
    if re.search(r"[\s:]", path):
        raise ProgramError(
            f"the loader cannot load {path} because its path has a space or a colon; "
            f"copy the file elsewhere and name the copy in {RUNTIME_OVERRIDE}"
        )
    return path


def _preload_text(runtime: str, existing: str) -> str:
    others = [
        entry for entry in re.split(r"[\s:]+", existing) if entry not in ("", runtime)
    ]
    return ":".join([runtime, *others])
