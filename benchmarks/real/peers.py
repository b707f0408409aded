"""Other analysers on the sources of a build, with the options of that build."""

import json
import re
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from benchmarks.real.spent import Spent
from leakline.static.capture.command import Build, Compilation

TIMEOUT_S = 300
JOBS = 2

# What each analyser calls the defects that Leakline looks for too.
_CLANG = re.compile(
    r"^(?P<file>[^:\n]+):(?P<line>\d+):\d+: warning: "
    r"(?P<text>.*(?:leak|free|release|dealloc).*)"
    r"\[(?:unix\.Malloc|unix\.MismatchedDeallocator|unix\.Stream)\]$",
    re.MULTILINE,
)
_GCC = re.compile(
    r"^(?P<file>[^:\n]+):(?P<line>\d+):\d+: warning: (?P<text>.*)"
    r"\[(?:-W|CWE-\d+\] \[-W)analyzer-(?:malloc-leak|file-leak|double-free|"
    r"use-after-free|mismatching-deallocation|double-fclose)\]$",
    re.MULTILINE,
)
_CPPCHECK = re.compile(
    r"^(?P<file>[^:\n]+):(?P<line>\d+): (?P<text>(?:memleak\w*|resourceLeak|"
    r"doubleFree|deallocuse|deallocret|mismatchAllocDealloc|leak\w+): .*)$",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Heard:
    """What an analyser said: `file:line: text`, and what it cost."""

    findings: tuple[str, ...]
    cpu_s: float
    failed: int


@dataclass(frozen=True, slots=True)
class Peer:
    """An analyser; `command` is run once for each source."""

    name: str
    command: Callable[[Compilation], list[str]]
    pattern: re.Pattern[str]


def _clang(c: Compilation) -> list[str]:
    output = ["-Xclang", "-analyzer-output=text", "-o", "/dev/null"]
    return ["clang-19", "--analyze", "-w", *output, *c.flags, c.source]


def _gcc(c: Compilation) -> list[str]:
    flags = [flag for flag in c.flags if not flag.startswith("--target")]
    return ["gcc", "-fanalyzer", *flags, "-c", c.source, "-o", "/dev/null"]


def _cppcheck(c: Compilation) -> list[str]:
    template = "--template={file}:{line}: {id}: {message}"
    flags = [flag for flag in c.flags if flag.startswith(("-I", "-D", "-U", "-std="))]
    return ["cppcheck", "--quiet", template, *flags, c.source]


PEERS = (
    Peer("clang-19 --analyze", _clang, _CLANG),
    Peer("gcc -fanalyzer", _gcc, _GCC),
    Peer("cppcheck", _cppcheck, _CPPCHECK),
)


def listen(peer: Peer, build: Build) -> Heard:
    """Run an analyser on every source of a build."""
    sources = {c.source_path.resolve(): c for c in build.compilations}
    with Spent() as spent, ThreadPoolExecutor(JOBS) as pool:
        outputs = list(pool.map(lambda c: _run(peer, c), sources.values()))
    findings = dict.fromkeys(
        _place(match, compilation)
        for compilation, output in zip(sources.values(), outputs, strict=True)
        for match in peer.pattern.finditer(output or "")
    )
    failed = sum(output is None for output in outputs)
    return Heard(tuple(sorted(findings)), spent.cpu_s, failed)


def _run(peer: Peer, compilation: Compilation) -> str | None:
    try:
        done = subprocess.run(
            peer.command(compilation),
            cwd=compilation.directory,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None
    return done.stdout + done.stderr


def _place(match: re.Match[str], compilation: Compilation) -> str:
    path = (compilation.directory / match["file"]).resolve()
    return f"{path}:{match['line']}: {match['text'].strip()}"


def write(folder: Path, name: str, heard: dict[str, Heard]) -> None:
    """Keep every finding, to be read."""
    texts = {peer: list(found.findings) for peer, found in heard.items()}
    (folder / f"{name}.peers.json").write_text(json.dumps(texts, indent=1))
