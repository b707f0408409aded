"""The options that say how a program is watched, shared by `run` and `preload`."""

from __future__ import annotations

import os

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
        "--budget",
        metavar="PERCENT",
        type=percent,
        help="CPU time that lens accesses may spend, as 2%% (default: 2%%)",
    )
    caller = parse_options(os.environ.get(VARIABLE, ""))
    parser.set_defaults(
        **{name: caller[name] for name in ("lens", "depth") if name in caller}
    )


def check(arguments: Namespace, program: str | None = None) -> None:
    """Refuses what the runtime could not do, before anything is started.

    Also chooses the lens for a program, where the user leaves that to us.
    """
    if arguments.lens is None:
        arguments.lens = "loss" if program and notes_losses(program) else "reach"
    refuse_missing_lenses(arguments.lens)
    if arguments.depth is not None and not 1 <= arguments.depth <= _DEEPEST:
        raise UsageError(f"--depth {arguments.depth} is not between 1 and {_DEEPEST}")


def runtime_options(arguments: Namespace, recording: str) -> dict[str, str]:
    """The options as the runtime reads them; only what the user chose is named."""
    lenses = dict.fromkeys(arguments.lens.split(","))
    if "pages" not in lenses or "loss" in lenses or "accesses" in lenses:
        lenses = {"reach": None, **lenses}
    options = {"recording": recording, "lens": ",".join(lenses)}
    if arguments.depth is not None:
        options["depth"] = str(arguments.depth)
    if arguments.raw_blocks:
        options["raw_blocks"] = "1"
    if arguments.no_children:
        options["children"] = "0"
    if arguments.budget is not None:
        options["budget_ppm"] = str(round(arguments.budget * 10_000))
    return options
