"""`LEAKLINE_OPTIONS`: reading what the caller set and writing what the runtime gets.

The text is `key=value:key=value`; a colon or backslash inside a value is escaped by a
backslash. Keys are the runtime's options and, for the person who runs `leakline`, the
options of a report, which are spelled as on the command line with `_` for `-`.
"""

from __future__ import annotations

from leakline.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

VARIABLE = "LEAKLINE_OPTIONS"

# Options that the `leakline` command itself reads; the runtime never sees them.
REPORT_KEYS = frozenset(
    [
        "baseline",
        "error_exitcode",
        "format",
        "report_file",
        "show",
        "sort",
        "stale",
        "stale_after",
        "suppressions",
        "top",
    ]
)


def parse_options(text: str) -> dict[str, str]:
    """Splits the text into keys and values.

    Raises:
        UsageError: A part has no `=`, or its key is no option.
    """
    options = {}
    for part in _split(text):
        key, equals, value = part.partition("=")
        if not equals:
            raise UsageError(f"{VARIABLE}: {part!r} is not of the form key=value")
        options[key.strip()] = value
    _refuse_unknown(options)
    return options


def format_options(options: Mapping[str, str]) -> str:
    """The text that `parse_options` reads back."""
    return ":".join(f"{key}={_escape(value)}" for key, value in options.items())


def runtime_options(options: Mapping[str, str]) -> dict[str, str]:
    """Those of the options that are for the runtime."""
    return {key: value for key, value in options.items() if key not in REPORT_KEYS}


def report_options(options: Mapping[str, str]) -> dict[str, str]:
    """Those of the options that are for the report."""
    return {key: value for key, value in options.items() if key in REPORT_KEYS}


def _refuse_unknown(options: Mapping[str, str]) -> None:
    if not options:
        return
    from leakline.recording._format import OPTIONS

    for key in options:
        if key not in OPTIONS and key not in REPORT_KEYS:
            known = ", ".join(sorted(REPORT_KEYS.union(OPTIONS)))
            raise UsageError(f"{VARIABLE}: there is no option {key!r}; known: {known}")


def _split(text: str) -> Iterator[str]:
    """The parts between unescaped colons, unescaped; empty ones are left out."""
    part: list[str] = []
    characters = iter(text)
    for character in characters:
        if character == "\\":
            part.append(next(characters, "\\"))
        elif character == ":":
            if part:
                yield "".join(part)
            part = []
        else:
            part.append(character)
    if part:
        yield "".join(part)


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace(":", "\\:")
