"""What a compiler's command line asks for, as far as `leakline cc` has to know."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import pairwise

from leakline.compile.response import expand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# Options whose next word is their value, not an input.
_WITH_VALUE = frozenset(
    [
        "-o",
        "-x",
        "-D",
        "-U",
        "-I",
        "-L",
        "-l",
        "-T",
        "-u",
        "-z",
        "-e",
        "-MF",
        "-MT",
        "-MQ",
        "-MJ",
        "-Xclang",
        "-Xlinker",
        "-Xassembler",
        "-Xpreprocessor",
        "-Xanalyzer",
        "-include",
        "-imacros",
        "-isystem",
        "-iquote",
        "-idirafter",
        "-isysroot",
        "-iprefix",
        "-iwithprefix",
        "-iwithprefixbefore",
        "-target",
        "--target",
        "--param",
        "-arch",
        "-framework",
        "-rpath",
        "-soname",
        "-G",
        "-A",
        "-mllvm",
        "--sysroot",
        "-B",
        "-resource-dir",
        "-dumpbase",
        "-dumpdir",
    ]
)
_COMPILED = frozenset(
    [".c", ".i", ".cc", ".cp", ".cpp", ".cxx", ".c++", ".C", ".CC", ".CPP", ".ii"]
)
_LANGUAGES = frozenset(
    ["c", "c++", "cpp-output", "c++-cpp-output", "c-header", "c++-header"]
)
# Nothing is made from a source that could be instrumented.
_QUERIES = frozenset(
    ["-E", "-M", "-MM", "-fsyntax-only", "--version", "-v", "--help", "--analyze"]
)
_QUERY_PREFIXES = ("-print-", "--print-", "-dumpversion", "-dumpmachine", "-dM")
_WITHOUT_LINKING = frozenset({"-c", "-S", "-emit-ast"})
_KERNEL = frozenset({"-ffreestanding", "-mcmodel=kernel", "-D__KERNEL__", "-mkernel"})
_WITHOUT_LIBC = frozenset({"-nostdlib", "-nodefaultlibs", "-nolibc"})


@dataclass(frozen=True, slots=True)
class CommandLine:
    """The words of one call of the compiler, sorted.

    Attributes:
        sources: Inputs that become instrumented code.
        links: It makes a program or library, not objects.
        is_static: What it links has no dynamic loader.
        has_lto: It asks for optimisation at link time.
        has_libc: False when it links without the C library.
        is_kernel: The code is for a kernel or a machine without a system.
        target: The machine and system named, if any.
        optimises: Some optimisation is asked for.
        has_separator: A word `--` ends the options.
    """

    sources: tuple[str, ...]
    links: bool
    is_static: bool
    has_lto: bool
    has_libc: bool
    is_kernel: bool
    target: str
    optimises: bool
    has_separator: bool


def read_command_line(words: Sequence[str]) -> CommandLine:
    """Sort the words behind the compiler's name; response files are looked into."""
    expanded = expand(words)
    options = [word for word in expanded if word.startswith("-")]
    is_query = any(_is_query(word) for word in options)
    inputs = _inputs(expanded)
    return CommandLine(
        sources=() if is_query else tuple(_compiled(inputs, expanded)),
        links=bool(inputs) and not is_query and _WITHOUT_LINKING.isdisjoint(options),
        is_static="-static" in options or "-static-pie" in options,
        has_lto=_last_switch(options, "-flto", "-fno-lto"),
        has_libc=_WITHOUT_LIBC.isdisjoint(options),
        is_kernel=not _KERNEL.isdisjoint(options),
        target=_target(expanded),
        optimises=_optimises(options),
        has_separator="--" in expanded,
    )


def _is_query(word: str) -> bool:
    return (word in _QUERIES and word != "-v") or word.startswith(_QUERY_PREFIXES)


def _inputs(words: Sequence[str]) -> list[str]:
    inputs = []
    rest = iter(words)
    for word in rest:
        if word in _WITH_VALUE:
            next(rest, None)
        elif not word.startswith("-") or word == "-":
            inputs.append(word)
    return inputs


def _compiled(inputs: Iterable[str], words: Sequence[str]) -> list[str]:
    """The inputs that are C or C++, by their names or by `-x`."""
    languages = [after for word, after in pairwise(words) if word == "-x"]
    languages += [word[2:] for word in words if word.startswith("-x") and word != "-x"]
    if languages:
        return list(inputs) if _LANGUAGES.issuperset(languages) else []
    return [name for name in inputs if os.path.splitext(name)[1] in _COMPILED]


def _last_switch(options: Iterable[str], on: str, off: str) -> bool:
    state = False
    for option in options:
        if option == on or option.startswith(on + "="):
            state = True
        elif option == off:
            state = False
    return state


def _target(words: Sequence[str]) -> str:
    target = ""
    for word, after in pairwise([*words, ""]):
        if word in {"-target", "--target"}:
            target = after
        elif word.startswith("--target="):
            target = word.partition("=")[2]
        elif word in {"-m32", "-mx32", "-m16"}:
            target = word
        elif word == "-m64":
            target = ""
    return target


def _optimises(options: Iterable[str]) -> bool:
    level = "-O0"
    for option in options:
        if option.startswith("-O"):
            level = option
    return level != "-O0"
