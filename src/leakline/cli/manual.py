"""The manual page, made of the same descriptions as the help texts."""

from collections.abc import Iterator

from leakline.cli.main import version_text
from leakline.cli.options_table import Command, Option, all_commands

_EXIT_CODES = (
    ("0", "nothing was found (or the watched program's own exit code)"),
    ("23", "leaks were found; --error-exitcode chooses another code"),
    ("2", "an option or the command line is wrong"),
    ("3", "the program cannot be run or watched"),
    ("4", "a recording or JSON report cannot be read"),
    ("5", "a suppression file or baseline cannot be understood"),
    ("6", "a check found nothing, but could not look at everything"),
)
_ENVIRONMENT = (
    ("LEAKLINE_OPTIONS", "key=value:key=value, options for the runtime and reports"),
    ("LEAKLINE_RUNTIME", "another library to load into programs"),
    ("NO_COLOR, FORCE_COLOR", "no colours, or colours even if this is no terminal"),
)


def man_page() -> str:
    """The page in roff, for `man`."""
    return "".join(f"{line}\n" for line in _lines(all_commands()))


def _lines(commands: list[Command]) -> Iterator[str]:
    yield f'.TH LEAKLINE 1 "" "leakline {_escaped(version_text())}"'
    yield ".SH NAME"
    yield r"leakline \- finds memory leaks in C and C++ programs"
    yield ".SH SYNOPSIS"
    yield ".B leakline"
    yield r"\fICOMMAND\fR ..."
    yield ".SH DESCRIPTION"
    yield (
        "Runs a program as it is, watches its heap, and names where each lost block was "
        "allocated and where the last reference to it went. Also checks source code."
    )
    yield ".SH COMMANDS"
    for command in commands:
        yield from _command(command)
    yield ".SH EXIT STATUS"
    yield from _table(_EXIT_CODES)
    yield ".SH ENVIRONMENT"
    yield from _table(_ENVIRONMENT)
    yield ".SH SEE ALSO"
    yield r"\fBvalgrind\fR(1), \fBctest\fR(1)"


def _command(command: Command) -> Iterator[str]:
    yield f".SS leakline {_escaped(command.name)}"
    yield rf"\fB{_escaped(command.usage)}\fR"
    for paragraph in command.description.strip().split("\n\n"):
        yield ".PP"
        yield _escaped(" ".join(paragraph.split()))
    for option in (*command.arguments, *command.options):
        yield ".TP"
        yield _title(option)
        yield _escaped(option.help)


def _title(option: Option) -> str:
    value = rf" \fI{_escaped(option.value)}\fR" if option.value else ""
    names = ", ".join(rf"\fB{_escaped(name)}\fR" for name in option.names)
    return f"{names}{value}".strip()


def _table(rows: tuple[tuple[str, str], ...]) -> Iterator[str]:
    for name, meaning in rows:
        yield ".TP"
        yield rf"\fB{_escaped(name)}\fR"
        yield _escaped(meaning)


def _escaped(text: str) -> str:
    """Plain text in roff: no escapes, no requests, hyphens that can be copied."""
    safe = text.replace("\\", r"\e").replace("-", r"\-")
    return f"\\&{safe}" if safe.startswith((".", "'")) else safe
