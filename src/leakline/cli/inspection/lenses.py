"""The lenses and other engines of Leakline: what they answer, and what they cost."""

from leakline.errors import UsageError

# Engine to the question it answers, in the order in which they are shown.
QUESTIONS = {
    "reach": "which blocks nothing points to any more",
    "loss": "where and why the last reference went",
    "pages": "which blocks were not used for long",
    "accesses": "when and where blocks were last used",
    "cc": "the loss, exact at source level, compiled in",
    "check": "leaks on paths of the source that no test runs",
}
# Those that are commands of their own and no lenses of `leakline run`.
COMMANDS = frozenset(["cc", "check"])
# What they cost.
COSTS = {
    "reach": "1.0x to 1.9x CPU, memory 1.05x to 1.3x",
    "loss": "1.0x to 2.3x CPU (short programs 8x), memory 1.2x to 2.3x; the first run plans the patches",
    "pages": "1.0x to 1.5x CPU (short programs 2x), memory 1.0x to 1.3x; forked children are not watched",
    "accesses": "1.0x to 1.7x CPU (short programs 16x), memory 1.2x to 3.3x; the first run plans the code",
    "cc": "as lens loss, in programs that were compiled with it",
    "check": "nothing at run time; 20 to 40 CPU seconds for the first 100,000 lines",
}


def refuse_missing_lenses(text: str) -> None:
    """Raises a `UsageError` unless all lenses of a comma-separated list are there."""
    known = [name for name in QUESTIONS if name not in COMMANDS]
    for name in text.split(","):
        if name not in known:
            raise UsageError(
                f"there is no lens {name!r}; the lenses are {', '.join(known)}"
            )
