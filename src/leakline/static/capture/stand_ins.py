"""Stand-ins for build tools: small shell scripts that note how a tool was called.

A stand-in writes directory and arguments into a file of its own and then becomes the
real tool. There are two kinds. Those named like tools come first in a build's PATH.
A compiler called by its full path passes them by, but looks for its parts (GCC's compiler
proper and linker's front end, clang's linker) where COMPILER_PATH says; stand-ins for
these note how the process that calls them was itself called. What clang compiles without
linking it logs by itself, and ccache is told not to answer without a compiler.
"""

import os
import re
import shlex
from pathlib import Path

from leakline.static.cache import write_atomically
from leakline.static.capture.clang_log import FILE_VARIABLE, VARIABLE
from leakline.static.capture.tools import is_build_tool

PARTS = ("cc1", "cc1plus", "collect2", "ld", "ld.lld")
PARTS_FOLDER = "parts"
CLANG_LOG = "clang.log"

# Sets `record` to the name of a new empty file. Numbers grow with each record, so that
# the order of a build is the order of names.
# `true` and not `:` because a failed redirection of a special built-in ends the shell.
_RECORD = """\
    set -C
    record=$LEAKLINE_CAPTURE/$$
    count=0
    until { true > "$record.$count"; } 2> /dev/null || [ "$count" -ge 9999 ]; do
        count=$((count + 1))
    done
    set +C
    record=$record.$count
    number=0
"""
_WATCHED = 'if [ -z "$LEAKLINE_CAPTURED" ] && [ -d "$LEAKLINE_CAPTURE" ]; then\n'
_RESPONSE = """\
        number=$((number + 1))
        case $argument in
            @*) cat "${argument#@}" > "$record.response$number" 2> /dev/null ;;
        esac
"""

# What the build was started with comes back, where it was something else.
_RESTORE = """\
    unset CC_PRINT_OPTIONS CC_PRINT_OPTIONS_FILE
    if [ -n "$LEAKLINE_CCACHE" ]; then
        unset CCACHE_DISABLE
    fi
"""

_TOOL = f"""#!/bin/sh
{_WATCHED}{_RECORD}    for argument in "$@"; do
{_RESPONSE}    done
    printf '%s\\0' "$(pwd)" NAME "$@" > "$record"
    mv "$record" "$record.done"
    export LEAKLINE_CAPTURED=1
{_RESTORE}fi
exec REAL "$@"
"""

# `tr` and not a loop over arguments: a shell cannot hold the null between them.
_PART = f"""#!/bin/sh
{_WATCHED}{_RECORD}    tr '\\0\\n' '\\n ' < /proc/$PPID/cmdline | sed 1d |
    while IFS= read -r argument; do
{_RESPONSE}    done
    {{ printf '%s\\0' "$(pwd)"; cat "/proc/$PPID/cmdline"; }} > "$record"
    mv "$record" "$record.done"
    export LEAKLINE_CAPTURED=1
fi
if [ -n "$LEAKLINE_COMPILER_PATH" ]; then
    COMPILER_PATH=$LEAKLINE_COMPILER_PATH
else
    unset COMPILER_PATH
fi
exec "$("/proc/$PPID/exe" -print-prog-name=NAME)" "$@"
"""


def write_stand_ins(folder: Path, search_path: str) -> None:
    """Write a stand-in for each build tool that the search path leads to."""
    found: dict[str, Path] = {}
    for entry in search_path.split(os.pathsep):
        if Path(entry).absolute() != folder:
            for tool in _build_tools(Path(entry).absolute()):
                found.setdefault(tool.name, tool)
    for name, tool in found.items():
        _write(folder / name, _filled(_TOOL, name=name, real=str(tool)))
    (folder / PARTS_FOLDER).mkdir(mode=0o700, exist_ok=True)
    for name in PARTS:
        _write(folder / PARTS_FOLDER / name, _filled(_PART, name=name))


def watching_environment(tools: Path, records: Path) -> dict[str, str]:
    """The environment of a build whose tools write into a folder of records."""
    environment = dict(os.environ)
    environment["PATH"] = f"{tools}{os.pathsep}{environment.get('PATH', os.defpath)}"
    environment["LEAKLINE_CAPTURE"] = str(records)
    environment.pop("LEAKLINE_CAPTURED", None)
    theirs = environment.get("COMPILER_PATH", "")
    environment["LEAKLINE_COMPILER_PATH"] = theirs
    if VARIABLE not in environment:
        environment[VARIABLE] = "1"
        environment[FILE_VARIABLE] = str(records / CLANG_LOG)
    if "CCACHE_DISABLE" not in environment:
        environment["CCACHE_DISABLE"] = environment["LEAKLINE_CCACHE"] = "1"
    paths = [str(tools / PARTS_FOLDER), *([theirs] if theirs else [])]
    environment["COMPILER_PATH"] = os.pathsep.join(paths)
    for variable in ("CC", "CXX", "AR", "LD"):
        # Archivers have no parts.
        stand_in = tools / Path(environment.get(variable, "")).name
        if environment.get(variable, "").startswith("/") and stand_in.is_file():
            environment[variable] = str(stand_in)
    return environment


def _filled(text: str, **words: str) -> str:
    """The script with NAME and REAL replaced, whatever the words themselves contain."""
    return re.sub("NAME|REAL", lambda match: shlex.quote(words[match[0].lower()]), text)


def _write(stand_in: Path, text: str) -> None:
    if not stand_in.is_file() or stand_in.read_text() != text:
        write_atomically(stand_in, text.encode(errors="surrogateescape"))
    stand_in.chmod(0o755)


def _build_tools(folder: Path) -> list[Path]:
    try:
        files = sorted(path for path in folder.iterdir() if is_build_tool(path.name))
    except OSError:
        return []
    return [path for path in files if os.access(path, os.X_OK)]
