"""Turns the command lines of build tools into compilations and links."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from leakline.static.capture.command import Compilation, LinkStep
from leakline.static.capture.flags import Parsed, parse_compiler

# Names of build tools, with cross prefixes and version suffixes.
COMPILER = re.compile(
    r"^(?:(?P<target>.+)-)?(?:cc|gcc|g\+\+|c\+\+|clang|clang\+\+|c89|c99)(?:-[\d.]+)?$"
)
LAUNCHER = re.compile(r"^(?:ccache|distcc|sccache|icecc)$")
ARCHIVER = re.compile(r"^(?:.+-)?(?:ar|gcc-ar|llvm-ar)(?:-[\d.]+)?$")
LINKER = re.compile(r"^(?:.+-)?ld(?:\.bfd|\.gold|\.lld)?(?:-[\d.]+)?$")

# Sources that configuration scripts compile to learn about the system.
PROBE = re.compile(
    r"(?:^|/)(?:conftest\w*|_configtest|testfile|sanitycheckc\w*|tmp\w*-compile)\.\w+$"
    r"|/CMakeFiles/|/CMakeTmp/|/meson-private/|CMakeC\w*Compiler(?:Id|ABI)"
)


@dataclass(frozen=True, slots=True)
class Invocation:
    """One run of a build tool: where, and its arguments with the name first."""

    directory: Path
    arguments: tuple[str, ...]


def is_build_tool(name: str) -> bool:
    """Whether a program of this name takes part in building C or C++."""
    kinds = (COMPILER, LAUNCHER, ARCHIVER, LINKER)
    return any(kind.match(name) for kind in kinds)


def interpret(
    invocation: Invocation,
) -> tuple[list[Compilation], list[LinkStep]]:
    """What one run of a build tool compiled and linked."""
    if not invocation.arguments:
        return [], []
    arguments = list(invocation.arguments)
    name = arguments.pop(0).rpartition("/")[2]
    while LAUNCHER.match(name) and arguments:
        name = arguments.pop(0).rpartition("/")[2]
    if ARCHIVER.match(name):
        return [], _archive(invocation.directory, arguments)
    if COMPILER.match(name):
        return _compiler(invocation.directory, parse_compiler(arguments), name)
    if LINKER.match(name):
        parsed = parse_compiler(arguments)
        parsed.query = False  # -E and -M mean other things to a linker
        return [], _link(invocation.directory, parsed, [])
    return [], []


def _compiler(
    directory: Path, parsed: Parsed, name: str
) -> tuple[list[Compilation], list[LinkStep]]:
    if parsed.query:
        return [], []
    compilations = [
        _compilation(directory, parsed, source, name)
        for source in parsed.sources
        if not is_probe(directory, source)
    ]
    if parsed.makes_objects:
        return compilations, []
    objects = [compilation.output for compilation in compilations]
    return compilations, _link(directory, parsed, objects)


def _compilation(
    directory: Path, parsed: Parsed, source: str, name: str
) -> Compilation:
    flags = list(parsed.flags)
    if target := _cross_target(name):
        flags.insert(0, f"--target={target}")
    if "++" in name and "-x" not in flags and source.endswith(".c"):
        flags += ["-x", "c++"]
    if parsed.makes_objects and parsed.output and len(parsed.sources) == 1:
        output = absolute(directory, parsed.output)
    elif parsed.makes_objects:
        output = absolute(directory, Path(source).stem + ".o")
    else:
        # Compiled and linked in one go: no object remains, the source names it.
        output = absolute(directory, source)
    return Compilation(directory, source, tuple(flags), output)


def _cross_target(name: str) -> str:
    """The machine that `aarch64-linux-gnu-gcc` compiles for; empty when not named."""
    match = COMPILER.match(name)
    target = match["target"] if match else None
    return target if target and "-" in target else ""


def _link(directory: Path, parsed: Parsed, objects: list[Path]) -> list[LinkStep]:
    if parsed.query or not (parsed.objects or objects):
        return []
    inputs = [*objects, *(absolute(directory, name) for name in parsed.objects)]
    output = absolute(directory, parsed.output or "a.out")
    closed = not (parsed.shared or parsed.exports)
    return [LinkStep(output, tuple(inputs), tuple(parsed.libraries), closed)]


def _archive(directory: Path, arguments: Sequence[str]) -> list[LinkStep]:
    """`ar rcs libx.a a.o b.o`; members that are only listed or deleted do not count."""
    names = [a for a in arguments if not a.startswith("--")]
    if not names or not set(names[0].lstrip("-")) & set("rq"):
        return []
    files = [name for name in names[1:] if not name.startswith("-")]
    if not files:
        return []
    output, *members = (absolute(directory, name) for name in files)
    return [LinkStep(output, tuple(members))]


def is_probe(directory: Path, source: str) -> bool:
    """Whether a configuration script compiles this to learn about the system."""
    return PROBE.search(str(directory / source)) is not None


def absolute(directory: Path, name: str) -> Path:
    """The path of a file that a tool in a directory names."""
    parts: list[str] = []
    for part in (directory / name).parts:
        if part == ".." and len(parts) > 1:
            parts.pop()
        elif part != "..":
            parts.append(part)
    return Path(*parts)
