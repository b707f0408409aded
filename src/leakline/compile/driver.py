"""Detects what a call of the compiler makes, adds flags, and runs clang."""

from __future__ import annotations

import os
import sys

from leakline.compile.command_line import CommandLine
from leakline.compile.compiler import find_compiler
from leakline.compile.response import expand_those_with

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leakline.compile.compiler import Compiler

# Words that clang does not know: what is to be noted of references in memory, and that
# nothing is to be compiled.
_BIRTHS = "--births"
_PRINT_FLAGS = "--print-flags"
# Exit codes of a clang that did its work, well or with errors in the source.
_SOUND_ENDS = (0, 1)
# What glibc's malloc is told, and how many freed blocks of each size it keeps at hand:
# with its usual 7, clang spends a sixth of its time there.
_TUNABLES = "GLIBC_TUNABLES"
_KEPT_AT_HAND = "glibc.malloc.tcache_count"
_BLOCKS_KEPT = 2000


class Additions:
    """What is added to a command line, and what has to be said about it.

    Attributes:
        flags: Empty when nothing is instrumented.
        notices: Sentences for the user.
    """

    __slots__ = ("flags", "notices")

    def __init__(self, flags: tuple[str, ...], notices: tuple[str, ...] = ()) -> None:
        self.flags = flags
        self.notices = notices


def compile_with(driver: str, words: Sequence[str]) -> int:
    """Run clang as `leakline cc` does; return its exit code."""
    compiler = find_compiler(driver)
    words = expand_those_with((_BIRTHS, _PRINT_FLAGS), words)
    births = _BIRTHS in words
    words = [word for word in words if word != _BIRTHS]
    line = CommandLine(words)
    additions = additions_for(line, compiler, births=births)
    if _PRINT_FLAGS in words:
        print(" ".join(additions_for(_ANY_SOURCE, compiler, births=births).flags))
        return 0
    for notice in additions.notices:
        say(notice)
    command = [compiler.path, *_placed(words, additions.flags, line)]
    if not additions.flags:
        sys.stdout.flush()
        os.execv(compiler.path, command)  # noqa: S606 - as a compiler's driver does
    return _run(command, [compiler.path, *words], line)


def additions_for(
    line: CommandLine, compiler: Compiler, *, births: bool = False
) -> Additions:
    """The flags for one call of the compiler; with births of references in memory."""
    notices = list(_about_linking(line))
    if not line.sources:
        return Additions((), tuple(notices))
    reason = _why_plain(line, compiler)
    if reason:
        names = ", ".join(line.sources)
        return Additions((), (f"{names}: compiled plainly: {reason}", *notices))
    flags = ["-g", f"-fpass-plugin={compiler.plugin}"]
    options = _options_of_plugin(line, births=births)
    if options:
        # They are known once the plugin is loaded as one of clang's own.
        flags.append(f"-fplugin={compiler.plugin}")
    for option in options:
        # For clang itself: the assembler would get what `-mllvm` alone says, too.
        flags += ["-Xclang", "-mllvm", "-Xclang", option]
    if not line.optimises:
        # Without optimisation clang leaves out where scopes begin and end.
        flags += ["-Xclang", "-fsanitize-address-use-after-scope"]
    if line.has_lto:
        flags.append("-fno-lto")
        flags += [switch.replace("-f", "-fno-", 1) for switch in line.switches_of_lto]
        notices.append(
            "optimisation at link time is turned off: losses are noted per source file"
        )
    return Additions(tuple(flags), tuple(notices))


def _options_of_plugin(line: CommandLine, *, births: bool) -> list[str]:
    options = []
    if line.optimises and not line.is_for_debugger:
        # To follow variables through optimised code is a good part of compiling it.
        options.append("-leakline-without-locals")
    if births:
        options.append("-leakline-births")
    return options


def say(sentence: str) -> None:
    """Print a sentence on standard error."""
    sys.stderr.write(f"leakline: {sentence}\n")


def _why_plain(line: CommandLine, compiler: Compiler) -> str:
    if compiler.plugin is None:
        return f"Leakline was installed without its plugin for clang {compiler.major}"
    if line.is_kernel:
        return "code for a kernel or without a C library has no heap of Leakline's"
    if line.sanitizer:
        return f"a program with the {line.sanitizer} sanitizer cannot be watched"
    if line.control_flow_check:
        return f"-fsanitize={line.control_flow_check} needs optimisation at link time"
    if line.target and not _is_native(line.target):
        return f"only programs for 64-bit x86 Linux can be watched, not {line.target}"
    return ""


def _is_native(target: str) -> bool:
    return target.startswith(("x86_64-", "amd64-")) and "linux" in target


def _about_linking(line: CommandLine) -> list[str]:
    if not line.links:
        return []
    if line.is_static:
        return ["a static program cannot be watched: link it without -static"]
    if not line.has_libc:
        return ["a program without the C library's malloc cannot be watched"]
    return []


def _placed(words: Sequence[str], flags: Sequence[str], line: CommandLine) -> list[str]:
    """The last word wins, so ours come last; behind `--` there are no flags."""
    return [*flags, *words] if line.has_separator else [*words, *flags]


def _run(command: list[str], plain: list[str], line: CommandLine) -> int:
    """A source that the plugin cannot cope with is compiled without it."""
    code = _ended(command)
    if code in _SOUND_ENDS:
        return code
    names = ", ".join(line.sources)
    say(f"{names}: compiled plainly, since clang ended with {code}; please report this")
    return _ended(plain)


def _ended(command: list[str]) -> int:
    """Run a command to its end; return its exit code, or minus the signal.

    A build calls the compiler for each source, so nothing is loaded that is not needed.
    """
    process = os.posix_spawn(command[0], command, environment_of_clang(os.environ))
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def environment_of_clang(own: Mapping[str, str]) -> dict[str, str]:
    """Our environment, with a quicker malloc unless the user says how it shall be."""
    told = own.get(_TUNABLES, "")
    if _KEPT_AT_HAND in told:
        return dict(own)
    told = f"{told}:{_KEPT_AT_HAND}={_BLOCKS_KEPT}".removeprefix(":")
    return {**own, _TUNABLES: told}


_ANY_SOURCE = CommandLine(["-c", "-O2", "source.c"])
