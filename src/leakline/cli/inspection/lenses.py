"""The lenses and other engines of Leakline, and which of them this version has."""

from typing import NamedTuple

from leakline.errors import UsageError


class Lens(NamedTuple):
    """One way of looking at a program.

    Attributes:
        question: What it answers.
        available: This version has it.
        cost: What it costs, in words; empty when it is not available.
        at_run_time: It is a lens of `leakline run`, not a command of its own.
    """

    question: str
    available: bool
    cost: str = ""
    at_run_time: bool = True


LENSES = {
    "reach": Lens(
        "which blocks nothing points to any more",
        available=True,
        cost="a few per cent to 1.3x CPU, memory up to 1.5x",
    ),
    "loss": Lens("where and why the last reference went", available=False),
    "pages": Lens("which blocks were not used for long", available=False),
    "accesses": Lens("when and where blocks were last used", available=False),
    "cc": Lens(
        "the loss, exact at source level, compiled in",
        available=False,
        at_run_time=False,
    ),
    "check": Lens(
        "leaks on paths of the source that no test runs",
        available=False,
        at_run_time=False,
    ),
}


def refuse_missing_lenses(text: str) -> None:
    """Raises a `UsageError` unless all lenses of a comma-separated list are there."""
    known = [name for name, lens in LENSES.items() if lens.at_run_time]
    for name in text.split(","):
        if name not in known:
            raise UsageError(
                f"there is no lens {name!r}; the lenses are {', '.join(known)}"
            )
        if not LENSES[name].available:
            raise UsageError(
                f"the lens {name} is not in this version; use --lens reach"
            )
