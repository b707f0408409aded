"""Compiles a source again with clang, so that the plugin writes its facts."""

import os
import re
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

from leakline.static.capture.attributes import remapped
from leakline.static.capture.command import Compilation
from leakline.static.capture.toolchain import Toolchain

# Unoptimised, so that branches and lines are the source's; every diagnostic that GCC
# would not stop for is off.
FIXED_FLAGS = (
    "-O0",
    "-g",
    "-fno-discard-value-names",
    "-fno-color-diagnostics",
    "-fno-caret-diagnostics",
    "-Wno-everything",
    "-Qunused-arguments",
    "-Xclang",
    "-disable-O0-optnone",
    "-Xclang",
    "-emit-llvm-only",
)
MAX_ATTEMPTS = 6
TIMEOUT_S = 300

_REFUSED_FLAG = re.compile(
    r"error: (?:unknown argument:?|unsupported (?:option|argument)|unknown target (?:CPU|triple)|"
    r"invalid value) '(?P<flag>[^']+)'(?: (?:in|to option|for) '(?P<option>[^']+)')?"
)
_FIRST_ERROR = re.compile(
    r"^(?:(?P<place>[^\n]*?): )?(?:fatal )?error: (?P<text>.*)$", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Extraction:
    """The outcome for one source.

    Attributes:
        facts: Content of the facts file; empty when there is none.
        files: Absolute paths of all files that were read.
        failure: Why there are no facts, in words; empty on success.
    """

    facts: bytes = b""
    files: tuple[str, ...] = ()
    failure: str = ""


def extract(compilation: Compilation, toolchain: Toolchain, work: Path) -> Extraction:
    """Have the plugin write the facts of one source; `work` is a folder to use up."""
    flags = list(compilation.flags)
    copies: dict[Path, Path] = {}
    for _ in range(MAX_ATTEMPTS):
        command = _command(compilation, toolchain, flags, copies, work)
        try:
            answer = _run(command, compilation.directory, work)
        except subprocess.TimeoutExpired:
            failure = f"clang did not finish within {TIMEOUT_S} seconds"
            return Extraction(failure=failure)
        except OSError as error:
            return Extraction(failure=f"clang could not be started: {error.strerror}")
        if answer.returncode == 0:
            return _collected(compilation, work)
        changed_flags = _without_refused(flags, answer.stderr)
        changed_copies = remapped(answer.stderr, compilation.directory, work, copies)
        if changed_flags == flags and changed_copies == copies:
            break
        flags, copies = changed_flags, changed_copies
    return Extraction(failure=_explain(answer))


def _command(
    compilation: Compilation,
    toolchain: Toolchain,
    flags: list[str],
    copies: dict[Path, Path],
    work: Path,
) -> list[str]:
    remaps = [
        word
        for original, copy in copies.items()
        for word in ("-Xclang", "-remap-file", "-Xclang", f"{original};{copy}")
    ]
    return [
        toolchain.clang,
        *flags,
        *FIXED_FLAGS,
        *remaps,
        f"-fpass-plugin={toolchain.plugin}",
        "-MD",
        "-MF",
        str(work / "depends"),
        "-c",
        compilation.source,
        "-o",
        os.devnull,
    ]


def _run(
    command: list[str], directory: Path, work: Path
) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "LEAKLINE_FACTS": str(work / "facts"), "LC_ALL": "C"}
    return subprocess.run(
        command,
        cwd=directory,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=TIMEOUT_S,
        check=False,
    )


def _collected(compilation: Compilation, work: Path) -> Extraction:
    try:
        facts = (work / "facts").read_bytes()
    except OSError:
        return Extraction(failure="the plugin wrote no facts")
    return Extraction(facts, _dependencies(work / "depends", compilation.directory))


def _dependencies(path: Path, directory: Path) -> tuple[str, ...]:
    """Files of a make rule `target: file file`, with its escapes undone."""
    try:
        text = path.read_text(errors="surrogateescape")
    except OSError:
        return ()
    words = re.findall(r"(?:\\.|[^\s\\])+", text.replace("\\\n", " "))
    names = [re.sub(r"\\(.)", r"\1", word).replace("$$", "$") for word in words[1:]]
    return tuple(dict.fromkeys(str(directory / name) for name in names))


def _without_refused(flags: list[str], diagnostics: str) -> list[str]:
    """Drop the options that clang named as unknown or unsupported."""
    refused = {
        word
        for match in _REFUSED_FLAG.finditer(diagnostics)
        for word in (match["flag"], match["option"])
        if word
    }
    return [flag for flag in flags if not _is_refused(flag, refused)]


def _is_refused(flag: str, refused: set[str]) -> bool:
    return flag in refused or flag.partition("=")[2] in refused - {""}


def _explain(answer: subprocess.CompletedProcess[str]) -> str:
    match = _FIRST_ERROR.search(answer.stderr)
    crashed = "PLEASE submit a bug report" in answer.stderr
    if answer.returncode < 0 or crashed:
        return _crash(answer.returncode)
    if match is None:
        return f"clang failed with status {answer.returncode}"
    place = f" ({match['place']})" if match["place"] else ""
    return f"{match['text']}{place}"


def _crash(status: int) -> str:
    name = f" ({signal.Signals(-status).name})" if status < 0 else ""
    return f"clang crashed{name}"
