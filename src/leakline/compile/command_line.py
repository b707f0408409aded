"""What a compiler's command line asks for, as far as `leakline cc` has to know."""

from __future__ import annotations

import os

from leakline.compile.response import expand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

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
        "-include-pch",
        "-imacros",
        "-isystem",
        "-cxx-isystem",
        "-ivfsoverlay",
        "-iquote",
        "-idirafter",
        "-isysroot",
        "-iprefix",
        "-iwithprefix",
        "-iwithprefixbefore",
        "-iwithsysroot",
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
        "--serialize-diagnostics",
    ]
)
# Of these the value matters here; they are kept as one word.
_JOINED = {"-D": "-D", "-target": "--target=", "--target": "--target="}
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
# Switches that clang takes only together with optimisation at link time.
_OF_LTO = ("-fwhole-program-vtables", "-fvirtual-function-elimination")
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

    Attributes:
        has_separator: A word `--` ends the options.
    """

    __slots__ = ("_inputs", "_options", "has_separator")

    def __init__(self, words: Sequence[str]) -> None:
        self.has_separator = False
        self._options: list[str] = []
        # Each with the language that `-x` says; "" and "none": its name tells it.
        self._inputs: list[tuple[str, str]] = []
        self._sort(iter(expand(words)))

    def _sort(self, words: Iterator[str]) -> None:
        language = ""
        for word in words:
            if self.has_separator or not word.startswith("-") or word == "-":
                self._inputs.append((word, language))
            elif word == "--":
                self.has_separator = True
            elif word == "-x":
                language = next(words, "")
            elif word.startswith("-x"):
                language = word[2:]
            elif word in _WITH_VALUE:
                value = next(words, "")
                if word in _JOINED:
                    self._options.append(_JOINED[word] + value)
            else:
                self._options.append(word)

    @property
    def sources(self) -> list[str]:
        """Inputs that become instrumented code."""
        if self._is_query:
            return []
        return [name for name, language in self._inputs if _is_source(name, language)]

    @property
    def links(self) -> bool:
        """It makes a program or library, not objects."""
        is_linking = _WITHOUT_LINKING.isdisjoint(self._options)
        return is_linking and not self._is_query and bool(self._inputs)

    @property
    def is_static(self) -> bool:
        """What it links has no dynamic loader."""
        return "-static" in self._options or "-static-pie" in self._options

    @property
    def has_lto(self) -> bool:
        """It asks for optimisation at link time."""
        return _last_switch(self._options, "-flto", "-fno-lto")

    @property
    def switches_of_lto(self) -> list[str]:
        """What it asks for that clang can do at link time only."""
        return [
            switch
            for switch in _OF_LTO
            if _last_switch(self._options, switch, switch.replace("-f", "-fno-", 1))
        ]

    @property
    def control_flow_check(self) -> str:
        """A sanitizer that clang can do at link time only, if any."""
        kinds = _sanitizers(self._options)
        return next((name for name in kinds if name.startswith("cfi")), "")

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
        kinds = _sanitizers(self._options)
        return next((name for name in kinds if name in _SANITIZERS), "")

    @property
    def target(self) -> str:
        """The machine and system named, if any."""
        return _target(self._options)

    @property
    def optimises(self) -> bool:
        """Some optimisation is asked for."""
        return _optimises(self._options)

    @property
    def is_for_debugger(self) -> bool:
        """Debug information is asked for that tells where variables are."""
        return _is_for_debugger(self._options)

    @property
    def _is_query(self) -> bool:
        return any(_is_query(word) for word in self._options)


def _is_query(word: str) -> bool:
    return (word in _QUERIES and word != "-v") or word.startswith(_QUERY_PREFIXES)


def _is_source(name: str, language: str) -> bool:
    """It is C or C++, by its name or by `-x`."""
    if language in {"", "none"}:
        return os.path.splitext(name)[1] in _COMPILED
    return language in _LANGUAGES


def _last_switch(options: Iterable[str], on: str, off: str) -> bool:
    state = False
    for option in options:
        if option == on or option.startswith(on + "="):
            state = True
        elif option == off:
            state = False
    return state


def _sanitizers(options: Iterable[str]) -> list[str]:
    chosen: dict[str, None] = {}
    for option in options:
        name, _, values = option.partition("=")
        if name == "-fsanitize":
            chosen |= dict.fromkeys(values.split(","))
        elif name == "-fno-sanitize":
            dropped = values.split(",")
            kept = [] if "all" in dropped else [n for n in chosen if n not in dropped]
            chosen = dict.fromkeys(kept)
    return list(chosen)


def _target(options: Iterable[str]) -> str:
    target = ""
    for option in options:
        if option.startswith("--target="):
            target = option.partition("=")[2]
        elif option in {"-m32", "-mx32", "-m16"}:
            target = option
        elif option == "-m64":
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
