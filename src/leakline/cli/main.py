"""The `leakline` command: finds the named command, runs it, prints its errors.

What is not needed before a watched program starts is imported later: a program should
not wait for its watcher. That is why modules on that way import neither `typing` nor
`pathlib`, which take longer to load than the rest together.
"""

from __future__ import annotations

import errno
import os
import sys
from importlib import import_module

from leakline.errors import LeaklineError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence
    from typing import Protocol

    class Command(Protocol):
        """What the module of a command offers."""

        def add_arguments(self, parser: ArgumentParser) -> None:
            """Declares the command's options and their help."""

        def run(self, arguments: Namespace) -> int:
            """Does the work and returns the exit code."""


# Command to what it does; the module of the same name in this package implements it.
COMMANDS = {
    "run": "run a program, watch its heap, and report what it lost",
    "report": "render a recording again",
    "diff": "compare two recordings or reports: what is new, grown and gone",
    "explain": "tell the whole story of one finding, and what to do about it",
    "blocks": "write what lens pages knew of every block, for other tools",
    "snapshot": "look at the heap of a watched program while it runs",
    "preload": "print the environment that watches a service",
    "check": "find leaks in source code, also on paths that no test runs",
    "cc": "compile C, or C++ as `leakline c++`, so that losses note themselves",
    "integrate": "print completions, the manual page and the CMake module",
    "doctor": "say which lenses will work on a program and on this machine",
}

# Commands whose words are all clang's, and the drivers that they stand for.
COMPILERS = {"cc": "clang", "c++": "clang++"}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns the exit code of the `leakline` process."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        code = _dispatch(words)
        if sys.stdout is not None:
            sys.stdout.flush()
    except LeaklineError as error:
        complain(str(error))
        return error.exit_code
    except BrokenPipeError:
        _abandon_stdout()
        return 0
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        if not _is_full(error):
            raise
        complain(f"the output cannot be written: {error.strerror}")
        _abandon_stdout()
        return UsageError.exit_code
    return code


def complain(sentence: str) -> None:
    """Prints a sentence on standard error, if there is one."""
    if sys.stderr is None:
        return
    from leakline.reports.printable import printable

    try:
        sys.stderr.write(f"leakline: {printable(sentence)}\n")
        sys.stderr.flush()
    except OSError:
        pass


def _dispatch(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help", "help"):
        print(overview())
        return 0
    if words[0] == "--version":
        print(f"leakline {version_text()}")
        return 0
    if words[0] in COMPILERS:
        from leakline.cli.cc import compile_as

        return compile_as(COMPILERS[words[0]], words[1:])
    if words[0] not in COMMANDS:
        raise UsageError(
            f"there is no command {words[0]!r}{_meant(words[0])}; the commands are "
            f"{', '.join(COMMANDS)} (leakline --help explains them)"
        )
    return _run_command(words[0], words[1:])


def _meant(word: str) -> str:
    """The command that a word is nearly the name of."""
    from difflib import get_close_matches

    found = get_close_matches(word, COMMANDS, 1)
    return f" (did you mean {found[0]}?)" if found else ""


def _run_command(name: str, words: list[str]) -> int:
    from leakline.cli.arguments import Parser

    module = import_module(f"leakline.cli.{name}")
    command: Command = module
    parser = Parser(prog=f"leakline {name}", description=module.__doc__)
    command.add_arguments(parser)
    return command.run(parser.parse_args(words))


def version_text() -> str:
    """The version of the installed package."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("leakline")
    except PackageNotFoundError:
        return "(not installed)"


def overview() -> str:
    """The help text of `leakline` itself."""
    width = max(map(len, COMMANDS))
    lines = [f"  {name:<{width}}  {does}" for name, does in COMMANDS.items()]
    return "\n".join(
        [
            "usage: leakline COMMAND ...",
            "",
            "Finds memory leaks in C and C++ programs.",
            "",
            *lines,
            "",
            "leakline COMMAND --help explains a command.",
        ]
    )


def _is_full(error: OSError) -> bool:
    return error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def _abandon_stdout() -> None:
    """Keeps the interpreter from flushing into what cannot be written to."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
