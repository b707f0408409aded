"""The options that shape a report, shared by all commands that print one.

What is heavy is imported when there is something to print: the options are parsed
before a program starts, and that has to be quick.
"""

from __future__ import annotations

import os
import sys

from leakline.cli import formats
from leakline.cli.arguments import count, exit_code, seconds
from leakline.cli.options import VARIABLE, parse_options, report_options
from leakline.cli.storage import refuse_unwritable, write_report_file
from leakline.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from pathlib import Path
    from typing import Any, TextIO

    from leakline.dynamic.load import Loaded
    from leakline.dynamic.staleness import Predicate
    from leakline.model.finding import Kind
    from leakline.model.report import Report
    from leakline.reports.privacy import Privacy
    from leakline.reports.style import Style
    from leakline.triage.own_allocators import OwnAllocators
    from leakline.triage.suppressions import Suppression

SUPPRESSION_FORMATS = ("valgrind", "lsan")
SHOWN_BY_DEFAULT = "lost,indirect,stale,never-used"
SORTS = ("bytes", "objects", "drag")
LEAKS_EXIT_CODE = 23


def add_arguments(parser: ArgumentParser, *, error_exit_code: int) -> None:
    """Declares the options; those set in LEAKLINE_OPTIONS become the defaults."""
    add_format_arguments(parser)
    add_selection_arguments(parser)
    parser.add_argument(
        "--gen-suppressions",
        nargs="?",
        const="valgrind",
        metavar="FORMAT",
        help="print suppressions for the findings, as --gen-suppressions=lsan or "
        "=valgrind (default)",
    )
    parser.add_argument(
        "-q",
        "--quiet",
        action="store_true",
        help="write findings only: nothing at all when there are none",
    )
    parser.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        help="in text: show the source around every frame, its place in the program or "
        "library, and the code that starts main",
    )
    parser.add_argument(
        "--error-exitcode",
        metavar="N",
        type=exit_code,
        help=f"exit code when leaks are found; 0: no change ({error_exit_code})",
    )
    parser.set_defaults(usual_exitcode=error_exit_code, baseline=None)
    parser.set_defaults(**_defaults_from(os.environ.get(VARIABLE, "")))


def add_selection_arguments(parser: ArgumentParser) -> None:
    """Declares what says which findings are meant, and joins further files."""
    parser.add_argument(
        "--with",
        dest="joined",
        metavar="FILE",
        action="append",
        default=[],
        help="join FILE, a recording or JSON report, also of `leakline check`, with "
        "what was found; may be repeated",
    )
    parser.add_argument(
        "--show",
        default=SHOWN_BY_DEFAULT,
        metavar="KINDS",
        help="kinds of blocks, of lost, indirect, stale, never-used, reachable "
        "(default: all but reachable)",
    )
    parser.add_argument(
        "--stale-after",
        metavar="SECONDS",
        type=seconds,
        default=1.0,
        help="CPU time after which blocks that nobody used count as stale (1)",
    )
    parser.add_argument(
        "--stale",
        metavar="PREDICATE",
        help="which blocks count as stale, for lens accesses: never (accessed), idle>T "
        "or idle>N*active, in CPU time (default: as --stale-after says)",
    )
    parser.add_argument(
        "--sort",
        choices=SORTS,
        help="what comes first among findings of a kind: the most bytes, objects, or "
        "drag, which is bytes times the time they were not used (default: drag for "
        "stale blocks, else bytes)",
    )
    parser.add_argument(
        "--top", metavar="N", type=count, help="show the N largest findings only"
    )
    parser.add_argument(
        "--suppressions",
        metavar="FILE",
        action="append",
        default=[],
        help="hide what FILE names, in Valgrind's or LSan's format; may be repeated",
    )
    parser.add_argument(
        "--model",
        metavar="FILE",
        action="append",
        default=[],
        help="leave the allocators that FILE, a model file as `leakline check` reads "
        "them, names out of stacks; may be repeated",
    )


def add_format_arguments(parser: ArgumentParser) -> None:
    """Declares how and where a report is written, and what it may show."""
    parser.add_argument(
        "--format",
        choices=formats.FORMATS,
        default=formats.TEXT,
        metavar="FORMAT",
        help=f"how to write the report: {', '.join(formats.FORMATS)} (default: text)",
    )
    parser.add_argument(
        "--report-file", metavar="FILE", help="where to write the report"
    )
    add_privacy_arguments(parser)


def add_privacy_arguments(parser: ArgumentParser) -> None:
    """Declares what keeps confidential code out of a report, in every format."""
    parser.add_argument(
        "--no-source", action="store_true", help="quote and embed no source text"
    )
    parser.add_argument(
        "--strip-path",
        metavar="PREFIX",
        action="append",
        default=[],
        help="take PREFIX off all paths; may be repeated",
    )


def add_baseline_argument(parser: ArgumentParser) -> None:
    """Declares --baseline, for commands that read one recording."""
    parser.add_argument(
        "--baseline",
        metavar="FILE",
        help="list and fail for leaks only that FILE, a JSON report or a recording, "
        f"does not have; the exit code is then {LEAKS_EXIT_CODE} if not given",
    )


def failure_code(arguments: Namespace) -> int:
    """The exit code when leaks are found."""
    if arguments.error_exitcode is not None:
        return int(arguments.error_exitcode)
    return LEAKS_EXIT_CODE if arguments.baseline else int(arguments.usual_exitcode)


def check(arguments: Namespace) -> None:
    """Refuses mistakes in the options before any work is done."""
    check_format(arguments)
    check_privacy(arguments)
    if arguments.show != SHOWN_BY_DEFAULT:
        shown_kinds(arguments)
    if arguments.stale:
        stale_predicate(arguments)
    if arguments.report_file:
        refuse_unwritable(arguments.report_file)
    read_named_files(arguments)


def read_named_files(arguments: Namespace) -> None:
    """Reads models, suppressions, baseline and what is joined, before programs run.

    Once, since a file may be a pipe, as with <(...) of a shell.
    """
    arguments.loaded_joined = _read_joined(arguments) if arguments.joined else []
    arguments.parsed_suppressions = (
        _read_suppressions(arguments.suppressions) if arguments.suppressions else ()
    )
    arguments.parsed_baseline = (
        _read_baseline(arguments) if arguments.baseline else None
    )
    arguments.own_allocators = (
        _read_own_allocators(arguments.model) if arguments.model else None
    )


def check_format(arguments: Namespace) -> None:
    """Refuses formats that do not exist or cannot go where they should."""
    name, generated = arguments.format, arguments.gen_suppressions
    if name not in formats.FORMATS:
        raise UsageError(
            f"there is no format {name!r}; the formats are {', '.join(formats.FORMATS)}"
        )
    if name in formats.BINARY and not arguments.report_file:
        raise UsageError(
            f"the format {name} is binary: name a file with --report-file FILE"
        )
    if generated not in (None, *SUPPRESSION_FORMATS):
        raise UsageError(
            f"--gen-suppressions={generated}: write "
            f"{' or '.join(SUPPRESSION_FORMATS)}, with an equals sign"
        )
    if generated == "lsan" and name in formats.AS_VALGRIND:
        raise UsageError(f"--gen-suppressions=lsan does not go with --format {name}")
    if arguments.quiet and name not in formats.WITH_QUIET:
        raise UsageError(
            f"--quiet goes with --format {' or '.join(formats.WITH_QUIET)}, not with "
            f"{name}"
        )
    if arguments.verbose and name != formats.TEXT:
        raise UsageError(f"--verbose goes with --format text, not with {name}")
    if generated and name not in formats.WITH_SUPPRESSIONS:
        raise UsageError(
            f"--gen-suppressions goes with --format "
            f"{' or '.join(formats.WITH_SUPPRESSIONS)}, not with {name}"
        )


def check_privacy(arguments: Namespace) -> None:
    """Refuses a --strip-path that would take the root away."""
    if any(not prefix.strip("/") for prefix in arguments.strip_path):
        raise UsageError("--strip-path: name a folder, other than /")


def shown_kinds(arguments: Namespace) -> frozenset[Kind]:
    """The kinds of findings that --show names."""
    from leakline.triage.selection import parse_kinds

    return parse_kinds(arguments.show)


def stale_predicate(arguments: Namespace) -> Predicate | None:
    """What --stale asks of a block; None when nothing is asked."""
    from leakline.dynamic.staleness import parse_predicate

    return parse_predicate(arguments.stale) if arguments.stale else None


def suppressions_from_files(arguments: Namespace) -> tuple[Suppression, ...]:
    """What the files named by --suppressions hold; `check` has read them."""
    parsed: tuple[Suppression, ...] = arguments.parsed_suppressions
    return parsed


def baseline(arguments: Namespace) -> Report | None:
    """The report that --baseline names; `check` has read it."""
    parsed: Report | None = arguments.parsed_baseline
    return parsed


def own_allocators(arguments: Namespace) -> OwnAllocators | None:
    """The allocators that --model names; `check` has read them."""
    parsed: OwnAllocators | None = arguments.own_allocators
    return parsed


def show(report: Report, arguments: Namespace, fallback: TextIO | None) -> bool:
    """Writes the report to --report-file or `fallback`; true when it has leaks."""
    from leakline.triage.selection import has_leaks

    content = _render(report, arguments, fallback)
    if arguments.report_file:
        write_report_file(arguments.report_file, content)
    else:
        print_text(content.decode(), fallback)
    return has_leaks(report)


def _read_suppressions(paths: list[str]) -> tuple[Suppression, ...]:
    from pathlib import Path

    from leakline.triage.suppression_files import read_suppressions

    return tuple(
        suppression for path in paths for suppression in read_suppressions(Path(path))
    )


def _read_own_allocators(paths: list[str]) -> OwnAllocators:
    from pathlib import Path

    from leakline.static.models.library import read_models
    from leakline.triage.own_allocators import OwnAllocators

    models = read_models(map(Path, paths)).values()
    return OwnAllocators(
        {model.name: model.release for model in models if model.allocates},
        {model.name for model in models if model.frees},
    )


def _read_joined(arguments: Namespace) -> list[Loaded]:
    from pathlib import Path

    from leakline.cli.loading import read_file

    return [read_file(Path(path), arguments) for path in arguments.joined]


def _read_baseline(arguments: Namespace) -> Report:
    from pathlib import Path

    from leakline.cli.loading import load_whole

    return load_whole(Path(arguments.baseline), shown_kinds(arguments))


def _render(report: Report, arguments: Namespace, fallback: TextIO | None) -> bytes:
    from leakline.reports.redaction import redact

    folder = current_folder()
    generated = _generated_suppressions(report, arguments)
    if arguments.format == formats.HTML:
        return _render_html(report, arguments, generated).encode()
    redacted = redact(report, privacy(arguments, folder))
    if arguments.format == formats.TEXT:
        if arguments.quiet and _is_silent(report):
            return b""
        style = _style(arguments, fallback, redacted.originals)
        return _text(redacted.report, style, generated)
    choices = _choices(arguments, generated)
    return formats.render(arguments.format, redacted.report, folder, **choices)


def _choices(arguments: Namespace, generated: str | None) -> dict[str, object]:
    """What only some formats can show."""
    choices: dict[str, object] = {}
    if generated is not None:
        is_valgrind = arguments.format in formats.AS_VALGRIND
        choices["suppressions"] = True if is_valgrind else generated
    if arguments.quiet:
        choices["quiet"] = True
    return choices


def _is_silent(report: Report) -> bool:
    """Whether something was looked at, and nothing found."""
    from leakline.model.report import LensState

    is_active = any(state is LensState.ACTIVE for _, state in report.run.lenses)
    return is_active and not report.findings


def _text(report: Report, style: Style, generated: str | None) -> bytes:
    from leakline.reports import check_text, text

    is_check = report.run.coverage is not None and not report.run.processes
    render = check_text.render if is_check else text.render
    written = render(report, style) + (f"\n{generated}" if generated else "")
    return written.encode(errors="backslashreplace")


def _render_html(report: Report, arguments: Namespace, generated: str | None) -> str:
    from leakline.reports.html.render import render

    return render(report, privacy(arguments, current_folder()), generated)


def privacy(arguments: Namespace, folder: Path) -> Privacy:
    """What --no-source and --strip-path let the reader see."""
    from leakline.reports.privacy import Privacy

    strip = tuple(arguments.strip_path)
    return Privacy(folder, strip, with_source=not arguments.no_source)


def _generated_suppressions(report: Report, arguments: Namespace) -> str | None:
    if arguments.gen_suppressions is None:
        return None
    from leakline.reports import suppressions

    if arguments.gen_suppressions == "lsan":
        return suppressions.lsan(report.findings)
    return suppressions.valgrind(report.findings)


def _style(
    arguments: Namespace, fallback: TextIO | None, originals: dict[str, str]
) -> Style:
    from dataclasses import replace

    from leakline.reports.style import style_for

    stream = None if arguments.report_file else fallback
    environment = {} if arguments.report_file else os.environ
    style = style_for(stream, environment, current_folder())
    return replace(
        style,
        with_source=not arguments.no_source,
        verbose=arguments.verbose,
        originals=originals,
    )


def current_folder() -> Path:
    """The current folder; one that holds nothing when it was removed."""
    from pathlib import Path

    try:
        return Path.cwd()
    except OSError:
        return Path(os.devnull)


def print_text(text: str, stream: TextIO | None) -> None:
    """Writes to a stream that may be closed, or in another encoding than the text."""
    if stream is None:
        return
    encoding = stream.encoding or "ascii"
    safe = text.encode(encoding, "backslashreplace").decode(encoding)
    try:
        stream.write(safe)
        stream.flush()
    except BrokenPipeError:
        if stream is sys.stdout:
            raise
    except OSError as error:
        if stream is sys.stdout:
            raise UsageError(
                f"the report cannot be written: {error.strerror}"
            ) from None


def _defaults_from(options_text: str) -> dict[str, Any]:
    options: dict[str, Any] = dict(report_options(parse_options(options_text)))
    if "suppressions" in options:
        options["suppressions"] = [options["suppressions"]]
    return options
