"""Which compiler options clang needs to read a source as the build's compiler did.

Only options that change what the source means are kept. Optimisation, warnings,
debugging, linking and everything only one compiler knows are left out, so options of
GCC never stop clang.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

# Options followed by a separate or attached value.
KEPT_WITH_VALUE = (
    "-D",
    "-U",
    "-I",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-include",
    "-imacros",
    "-isysroot",
    "-iprefix",
    "-iwithprefix",
    "-iwithprefixbefore",
    "-target",
    "--target",
    "-x",
)
DROPPED_WITH_VALUE = frozenset(
    {
        "-MF",
        "-MT",
        "-MQ",
        "-MJ",
        "-Xlinker",
        "-Xassembler",
        "-Xclang",
        "-Xanalyzer",
        "-T",
        "-u",
        "-z",
        "-e",
        "-h",
        "-G",
        "-A",
        "-aux-info",
        "--param",
        "-dumpbase",
        "-dumpdir",
        "-dumpbase-ext",
        "-specs",
        "-wrapper",
        "-arch",
        "-framework",
        "-rpath",
        "-soname",
        "-version-script",
    }
)
KEPT = frozenset(
    {
        "-ansi",
        "-nostdinc",
        "-nostdinc++",
        "-nostdlibinc",
        "-undef",
        "-trigraphs",
        "-pthread",
        "-m16",
        "-m32",
        "-m64",
        "-mx32",
        "-fopenmp",
        "-fshort-enums",
        "-fno-short-enums",
        "-fshort-wchar",
        "-fno-short-wchar",
        "-fsigned-char",
        "-funsigned-char",
        "-fno-signed-char",
        "-fno-unsigned-char",
        "-fcommon",
        "-fno-common",
        "-fgnu89-inline",
        "-fno-gnu89-inline",
        "-fms-extensions",
        "-fpermissive",
        "-ffreestanding",
        "-fno-builtin",
        "-fexceptions",
        "-fno-exceptions",
        "-frtti",
        "-fno-rtti",
        "-fblocks",
        "-fwrapv",
        "-fchar8_t",
        "-fno-char8_t",
        "-fcoroutines",
        "-fdollars-in-identifiers",
        "-fno-threadsafe-statics",
        "-fpack-struct",
    }
)
KEPT_PREFIXES = (
    "-std=",
    "--std=",
    "--sysroot=",
    "-stdlib=",
    "--target=",
    "-march=",
    "-mcpu=",
    "-mabi=",
    "-mfpu=",
    "-mfloat-abi=",
    "-msse",
    "-mssse",
    "-mavx",
    "-maes",
    "-mpclmul",
    "-mbmi",
    "-mfma",
    "-mf16c",
    "-mpopcnt",
    "-mlzcnt",
    "-mmovbe",
    "-mrdrnd",
    "-mrdseed",
    "-msha",
    "-mms-bitfields",
    "-fno-builtin-",
    "-fpack-struct=",
)
SOURCE_SUFFIXES = frozenset(
    {".c", ".i", ".cc", ".cp", ".cpp", ".cxx", ".c++", ".C", ".CC", ".CPP", ".ii"}
)
EXPORT_OPTIONS = ("--export-dynamic", "-Wl,-E")
# Modes in which the compiler makes no object, archive or program.
QUERIES = frozenset({"-E", "-M", "-MM", "-fsyntax-only", "--version", "--help", "-###"})
QUERY_PREFIXES = ("-print-", "-dumpversion", "-dumpmachine", "-dumpfullversion")


@dataclass(slots=True)
class Parsed:
    """One compiler command line, sorted.

    Attributes:
        flags: Options kept for clang, in their order.
        objects: Inputs that are not sources, as written.
        makes_objects: Stops before linking (-c or -S).
        shared: Links a shared library (-shared) or relocatable object (-r).
        exports: Links a program whose functions plugins may call (-rdynamic).
        query: Asks the compiler something instead of building.
    """

    flags: list[str] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    objects: list[str] = field(default_factory=list)
    libraries: list[str] = field(default_factory=list)
    output: str | None = None
    makes_objects: bool = False
    shared: bool = False
    exports: bool = False
    query: bool = False


def parse_compiler(arguments: Sequence[str]) -> Parsed:
    """Sort the arguments of a compiler, its name left out."""
    parsed = Parsed()
    rest = iter(arguments)
    for argument in rest:
        _sort(argument, rest, parsed)
    return parsed


def _sort(argument: str, rest: Iterator[str], parsed: Parsed) -> None:
    if not argument.startswith("-") or argument == "-":
        _sort_input(argument, parsed)
    elif argument.startswith("-o"):
        parsed.output = argument[2:] or next(rest, None)
    elif argument in {"-c", "-S"}:
        parsed.makes_objects = True
    elif argument in {"-shared", "-r", "--relocatable", "-dynamiclib"}:
        parsed.shared = True
    elif argument == "-rdynamic" or argument.endswith(EXPORT_OPTIONS):
        parsed.exports = True
    elif argument.startswith("-l"):
        parsed.libraries.append(argument[2:] or next(rest, ""))
    elif argument.startswith("-L"):
        _ = argument[2:] or next(rest, None)
    elif argument in QUERIES or argument.startswith(QUERY_PREFIXES):
        parsed.query = True
    else:
        _sort_option(argument, rest, parsed)


def _sort_input(argument: str, parsed: Parsed) -> None:
    name = argument.rpartition("/")[2]
    suffix = name[name.rfind(".") :] if "." in name else ""
    if suffix in SOURCE_SUFFIXES:
        parsed.sources.append(argument)
    else:
        parsed.objects.append(argument)


def _sort_option(argument: str, rest: Iterator[str], parsed: Parsed) -> None:
    if argument in DROPPED_WITH_VALUE:
        next(rest, None)
    elif argument.startswith("-Wp,"):
        parsed.flags += _preprocessor_flags(argument.split(",")[1:])
    elif argument == "-Xpreprocessor":
        parsed.flags += _preprocessor_flags([next(rest, "")])
    elif argument in KEPT or argument.startswith(KEPT_PREFIXES):
        parsed.flags.append(argument)
    elif argument == "--sysroot":
        parsed.flags.append(f"--sysroot={next(rest, '')}")
    elif argument in KEPT_WITH_VALUE:
        parsed.flags += [argument, next(rest, "")]
    elif argument.startswith(KEPT_WITH_VALUE):
        parsed.flags.append(argument)


def _preprocessor_flags(arguments: Sequence[str]) -> list[str]:
    return [a for a in arguments if a.startswith(("-D", "-U", "-I", "-std="))]
