"""Plans for lens `loss`: those the program starts with before the run, others after it.

Which programs a program starts and which libraries it loads is known only once it has
run, so their plans serve the next run.
"""

from __future__ import annotations

from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace


def is_wanted(arguments: Namespace) -> bool:
    """Whether the lenses of a run need plans."""
    return "loss" in arguments.lens.split(",")


def plan_before(program: str) -> dict[str, str]:
    """Makes missing plans of a program and its libraries; returns runtime options."""
    from leakline.cli.progress import Progress
    from leakline.patching.plans import prepare

    with Progress() as progress:
        prepared = prepare(_patched_modules(program), progress.update)
    return {"plans": str(prepared.folder)}


def _patched_modules(program: str) -> list[Path]:
    """A program and its libraries without those that note their losses themselves."""
    from leakline.cli.inspection.program import notes_losses
    from leakline.patching.plans import modules_of

    return [path for path in modules_of(Path(program)) if not notes_losses(str(path))]


def plan_after(recording: str) -> tuple[str, ...]:
    """Makes the plans that a run missed; returns sentences about what was not seen."""
    from leakline.cli.progress import Progress
    from leakline.patching.missing import modules_without_plan
    from leakline.patching.plans import prepare

    missing = modules_without_plan(Path(recording))
    if not missing:
        return ()
    with Progress() as progress:
        prepared = prepare(missing, progress.update)
    planned = len(missing) - len(prepared.unplanned)
    sentences = [
        f"No patch plan could be made for {why}." for why in prepared.unplanned
    ]
    if planned:
        sentences.append(_about_next_run(planned))
    return tuple(sentences)


def _about_next_run(count: int) -> str:
    what = "1 patch plan was" if count == 1 else f"{count} patch plans were"
    return f"{what} made for the next run: run again to see the losses there."
