"""Command-line parsing in the house manner: mistakes are `UsageError`s."""

from __future__ import annotations

import argparse

from leakline.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

_HELP_WIDTH = 88
_LARGEST_EXIT_CODE = 255


class Parser(argparse.ArgumentParser):
    """An argument parser that takes no abbreviations and raises its complaints."""

    def __init__(self, *, prog: str, description: str | None) -> None:
        first_paragraph = (description or "").split("\n\n", maxsplit=1)[0]
        super().__init__(
            prog=prog,
            description=first_paragraph,
            allow_abbrev=False,
            formatter_class=_HelpFormatter,
        )

    def error(self, message: str) -> NoReturn:
        """Turns a parse error into one sentence with the way to the help."""
        raise UsageError(f"{message} ({self.prog} --help lists the options)")


class _HelpFormatter(argparse.HelpFormatter):
    def __init__(self, prog: str) -> None:
        # A given width keeps argparse from loading `shutil` to ask the terminal.
        super().__init__(prog, width=_HELP_WIDTH)


def count(text: str) -> int:
    """A whole number of at least 0, or an error that argparse words."""
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)


def exit_code(text: str) -> int:
    """An exit code, 0 to 255."""
    number = count(text)
    if number > _LARGEST_EXIT_CODE:
        raise argparse.ArgumentTypeError(f"{text} is not an exit code (0 to 255)")
    return number


def seconds(text: str) -> float:
    """A positive number of seconds."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds")
    return number
