"""Compiles as clang does, with every loss of a reference noted in what it makes.

`leakline cc` is clang and `leakline c++` is clang++, also by the names leakline-cc and
leakline-c++; all other words are theirs.
"""

from __future__ import annotations

import os
import sys

from leakline.cli.main import complain
from leakline.errors import LeaklineError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence
    from typing import NoReturn


def add_arguments(parser: ArgumentParser) -> None:
    """Declares what the help shows; the words themselves go to clang unread."""
    from argparse import REMAINDER

    parser.usage = "leakline cc | c++ [ARGUMENT ...]"
    parser.add_argument(
        "--print-flags",
        action="store_true",
        help="print what is added to the arguments, and compile nothing",
    )
    parser.add_argument(
        "--births",
        action="store_true",
        help="let `leakline run --births` tell where references in memory were created",
    )
    parser.add_argument(
        "words", metavar="ARGUMENT ...", nargs=REMAINDER, help="as for clang"
    )


def run(arguments: Namespace) -> int:
    """Compiles C; returns clang's exit code."""
    flags = ["--print-flags"] if arguments.print_flags else []
    flags += ["--births"] if arguments.births else []
    return compile_as("clang", [*flags, *arguments.words])


def compile_as(driver: str, words: Sequence[str]) -> int:
    """Runs `clang` or `clang++`; returns its exit code."""
    from leakline.compile.driver import compile_with

    try:
        return compile_with(driver, words)
    except LeaklineError as error:
        complain(str(error))
        return error.exit_code


def compile_c() -> NoReturn:
    """The command `leakline-cc`."""
    _leave(compile_as("clang", sys.argv[1:]))


def compile_cxx() -> NoReturn:
    """The command `leakline-c++`."""
    _leave(compile_as("clang++", sys.argv[1:]))


def _leave(code: int) -> NoReturn:
    """A build waits for every call, and Python takes 2 ms to clear up after itself."""
    if sys.stdout is not None:
        sys.stdout.flush()
    os._exit(code)
