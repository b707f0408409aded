"""The options that say how a program is watched, shared by `run` and `preload`."""

from __future__ import annotations

import os
from argparse import ArgumentTypeError
from typing import NamedTuple

from leakline.cli.arguments import count, percent
from leakline.cli.inspection.lenses import refuse_missing_lenses
from leakline.cli.inspection.program import notes_losses
from leakline.cli.options import VARIABLE, parse_options
from leakline.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

_DEEPEST = 256  # as options.def says


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the options; those set in LEAKLINE_OPTIONS become the defaults."""
    parser.add_argument(
        "--lens",
        help=(
            "lenses to look through, separated by commas (default: reach; for programs "
            "that `leakline cc` compiled: loss)"
        ),
    )
    parser.add_argument(
        "--mode",
        type=mode,
        help=(
            "how much lens loss does: minimal (nothing: reach only), partial=BYTES "
            "(larger blocks are not searched for references when they are freed), or "
            "full (default)"
        ),
    )
    parser.add_argument(
        "--births",
        action="store_true",
        help="also tell where the lost references were created; several times the "
        "cost of lens loss (implies --lens loss)",
    )
    parser.add_argument(
        "--loss-stacks",
        action="store_true",
        help="keep the whole call stack of each loss instead of its two innermost "
        "frames; several times the cost of lens loss (implies --lens loss)",
    )
    parser.add_argument(
        "--clear-freed",
        action="store_true",
        help="clear references in blocks that are freed, as lens loss always does: "
        "memory that is taken again and not filled may hide leaks otherwise",
    )
    parser.add_argument(
        "--references",
        action="store_true",
        help="for blocks that are not lost: tell which variables and blocks refer to "
        "them, and with --births where those references were created",
    )
    parser.add_argument(
        "--no-children",
        action="store_true",
        help="do not watch the programs that the program starts",
    )
    parser.add_argument(
        "--depth",
        metavar="N",
        type=count,
        help=f"frames kept of each call stack, 1 to {_DEEPEST} (default: 64)",
    )
    parser.add_argument(
        "--raw-blocks",
        action="store_true",
        help="with lens pages: record every block, for `leakline blocks`",
    )
    parser.add_argument(
        "--touches",
        action="store_true",
        help="with lens pages: tell who used idle pages last; needs CAP_SYS_PTRACE or "
        "/dev/userfaultfd",
    )
    parser.add_argument(
        "--compact",
        action="store_true",
        help="with lens pages: let pages that nobody uses share memory",
    )
    parser.add_argument(
        "--budget",
        metavar="PERCENT",
        type=percent,
        help="CPU time that lens accesses may spend, as 2%% (default: 2%%)",
    )
    caller = parse_options(os.environ.get(VARIABLE, ""))
    parser.set_defaults(
        **{name: caller[name] for name in ("lens", "depth") if name in caller}
    )


class Mode(NamedTuple):
    """How much lens `loss` does; a search limit of 0 is none."""

    name: str
    search_limit: int = 0


def mode(text: str) -> Mode:
    """A mode as it is written on the command line."""
    name, equals, limit = text.partition("=")
    if name == "partial" and equals and limit.isascii() and limit.isdigit():
        size = int(limit)
        if size > 0:
            return Mode(name, size)
    if text in ("minimal", "full"):
        return Mode(text)
    raise ArgumentTypeError(f"{text!r} is not minimal, partial=BYTES or full")


def _lenses_for(chosen: Mode, lenses: str) -> str:
    others = [one for one in lenses.split(",") if one != "loss"]
    wanted = [] if chosen.name == "minimal" else ["loss"]
    return ",".join([*others, *wanted]) or "reach"


def _with_loss(lenses: str) -> str:
    return lenses if "loss" in lenses.split(",") else f"{lenses},loss"


def check(arguments: Namespace, program: str | None = None) -> None:
    """Refuses what the runtime could not do, before anything is started.

    Also chooses the lens for a program, where the user leaves that to us.
    """
    if arguments.lens is None:
        arguments.lens = "loss" if program and notes_losses(program) else "reach"
    if arguments.mode is not None:
        arguments.lens = _lenses_for(arguments.mode, arguments.lens)
    if arguments.births or arguments.loss_stacks:
        arguments.lens = _with_loss(arguments.lens)
    refuse_missing_lenses(arguments.lens)
    if arguments.depth is not None and not 1 <= arguments.depth <= _DEEPEST:
        raise UsageError(f"--depth {arguments.depth} is not between 1 and {_DEEPEST}")


# Arguments that switch something on, and what the runtime calls it.
_SWITCHES = {
    "loss_stacks": "loss_stacks",
    "clear_freed": "clear_freed",
    "references": "references",
    "raw_blocks": "raw_blocks",
    "touches": "touch_stacks",
    "compact": "compact",
}


def runtime_options(arguments: Namespace, recording: str) -> dict[str, str]:
    """The options as the runtime reads them; only what the user chose is named."""
    lenses = dict.fromkeys(arguments.lens.split(","))
    if "pages" not in lenses or "loss" in lenses or "accesses" in lenses:
        lenses = {"reach": None, **lenses}
    options = {"recording": recording, "lens": ",".join(lenses)}
    if arguments.depth is not None:
        options["depth"] = str(arguments.depth)
    options.update(
        (name, "1") for switch, name in _SWITCHES.items() if getattr(arguments, switch)
    )
    if arguments.no_children:
        options["children"] = "0"
    if arguments.budget is not None:
        options["budget_ppm"] = str(round(arguments.budget * 10_000))
    if arguments.mode is not None and arguments.mode.search_limit:
        options["search_limit"] = str(arguments.mode.search_limit)
    return options
