"""What a compiler's command line asks for, as far as `leakline cc` has to know."""

from __future__ import annotations

import os
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
# Those that bring a malloc of their own.
_SANITIZERS = frozenset({"address", "hwaddress", "leak", "memory", "thread"})
# Debug information without local variables, and options that do not ask for any.
_WITHOUT_VARIABLES = frozenset(
    ["-g0", "-ggdb0", "-g1", "-ggdb1", "-gline-tables-only", "-gline-directives-only"]
)
_ABOUT_DEBUG_SECTIONS = (
    "-gcc-",
    "-gcolumn-info",
    "-gembed-source",
    "-gno-",
    "-gpubnames",
    "-gsimple-template-names",
    "-gz",
)
_WITHOUT_LIBC = frozenset({"-nostdlib", "-nodefaultlibs", "-nolibc"})


class CommandLine:
    """The words of one call of the compiler; response files are looked into.

    No dataclass: to load those takes longer than all else that `leakline cc` does.
    """

    __slots__ = ("_options", "_words")

    def __init__(self, words: Sequence[str]) -> None:
        self._words = expand(words)
        self._options = [word for word in self._words if word.startswith("-")]

    @property
    def sources(self) -> list[str]:
        """Inputs that become instrumented code."""
        return [] if self._is_query else _compiled(_inputs(self._words), self._words)

    @property
    def links(self) -> bool:
        """It makes a program or library, not objects."""
        is_linking = _WITHOUT_LINKING.isdisjoint(self._options)
        return is_linking and not self._is_query and bool(_inputs(self._words))

    @property
    def is_static(self) -> bool:
        """What it links has no dynamic loader."""
        return "-static" in self._options or "-static-pie" in self._options

    @property
    def has_lto(self) -> bool:
        """It asks for optimisation at link time."""
        return _last_switch(self._options, "-flto", "-fno-lto")

    @property
    def has_libc(self) -> bool:
        """False when it links without the C library."""
        return _WITHOUT_LIBC.isdisjoint(self._options)

    @property
    def is_kernel(self) -> bool:
        """The code is for a kernel or a machine without a system."""
        return not _KERNEL.isdisjoint(self._options)

    @property
    def sanitizer(self) -> str:
        """A sanitizer with a heap of its own that the code is for, if any."""
        return _sanitizer(self._options)

    @property
    def target(self) -> str:
        """The machine and system named, if any."""
        return _target(self._words)

    @property
    def optimises(self) -> bool:
        """Some optimisation is asked for."""
        return _optimises(self._options)

    @property
    def is_for_debugger(self) -> bool:
        """Debug information is asked for that tells where variables are."""
        return _is_for_debugger(self._options)

    @property
    def has_separator(self) -> bool:
        """A word `--` ends the options."""
        return "--" in self._words

    @property
    def _is_query(self) -> bool:
        return any(_is_query(word) for word in self._options)


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


def _sanitizer(options: Iterable[str]) -> str:
    chosen: dict[str, None] = {}
    for option in options:
        name, _, values = option.partition("=")
        if name == "-fsanitize":
            chosen |= dict.fromkeys(values.split(","))
        elif name == "-fno-sanitize":
            dropped = values.split(",")
            kept = [] if "all" in dropped else [n for n in chosen if n not in dropped]
            chosen = dict.fromkeys(kept)
    return next((name for name in chosen if name in _SANITIZERS), "")


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


def _is_for_debugger(options: Iterable[str]) -> bool:
    level = "-g0"
    for option in options:
        if option.startswith("-g") and not option.startswith(_ABOUT_DEBUG_SECTIONS):
            level = option
    return level not in _WITHOUT_VARIABLES
