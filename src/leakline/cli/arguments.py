"""Command-line parsing in the house manner: mistakes are `UsageError`s."""

from __future__ import annotations

import argparse
import sys

from leakline.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence
    from typing import NoReturn

_HELP_WIDTH = 88
_LARGEST_EXIT_CODE = 255
_WHOLE = 100


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
        self._after_dashes = ""

    def option_actions(self) -> list[argparse.Action]:
        """What was declared, in its order."""
        return list(self._actions)

    def keep_after_dashes(self, name: str) -> None:
        """Puts the words after the first `--` under `name`, None without a `--`."""
        self._after_dashes = name
        self.set_defaults(**{name: None})

    def parse_known_args(  # type: ignore[override]  # no other kind of namespace
        self, args: Sequence[str] | None = None, namespace: Namespace | None = None
    ) -> tuple[Namespace, list[str]]:
        """Parses the words before `--` when those after it are kept apart."""
        words = list(sys.argv[1:] if args is None else args)
        if self._after_dashes and "--" in words:
            cut = words.index("--")
            self.set_defaults(**{self._after_dashes: words[cut + 1 :]})
            del words[cut:]
        return super().parse_known_args(words, namespace)

    def error(self, message: str) -> NoReturn:
        """Turns a parse error into one sentence with the way to the help."""
        hint = self._meant(message)
        raise UsageError(f"{message}{hint} ({self.prog} --help lists the options)")

    def _meant(self, message: str) -> str:
        """The option that the first word which is none is nearly the name of."""
        from difflib import get_close_matches

        unknown = message.partition("unrecognized arguments: ")[2].split()
        options = [word for one in self._actions for word in one.option_strings]
        word = unknown[0].partition("=")[0] if unknown else ""
        found = get_close_matches(word, options, 1)
        return f"; did you mean {found[0]}?" if found else ""


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


def percent(text: str) -> float:
    """A share of more than 0 and at most 100 %, with or without the sign."""
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        number = 0.0
    if not 0 < number <= _WHOLE:
        raise argparse.ArgumentTypeError(f"{text!r} is not a share of 100 %")
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
