"""Plans for lenses that change code: some before the run, some after it.

Which programs a program starts and which libraries it loads is known only once it has
run, so their plans serve the next run.
"""

from __future__ import annotations

from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from leakline.patching.plans import Wanted


# Lenses that need plans.
_LENSES = ("loss", "accesses")


def is_wanted(arguments: Namespace) -> bool:
    """Whether the lenses of a run need plans."""
    return any(lens in _LENSES for lens in arguments.lens.split(","))


def plan_before(program: str, lenses: str, *, births: bool = False) -> dict[str, str]:
    """Makes missing plans of a program and its libraries; returns runtime options."""
    from leakline.cli.progress import Progress
    from leakline.patching.plans import prepare

    with Progress() as progress:
        prepared = prepare(
            _wanted_plans(program, lenses, births=births), progress.update
        )
    return {"plans": str(prepared.folder), **({"births": "1"} if births else {})}


def _wanted_plans(program: str, lenses: str, *, births: bool) -> list[Wanted]:
    """Of a program and its libraries; those that note their losses need no patches."""
    from leakline.cli.inspection.program import notes_losses
    from leakline.patching.kinds import kinds_for
    from leakline.patching.plans import Wanted, modules_of

    kinds = kinds_for(lenses.split(","), births=births)
    return [
        Wanted(kind, module)
        for module in modules_of(Path(program))
        for kind in kinds
        if kind.lens == "accesses" or not notes_losses(str(module))
    ]


def plan_after(recording: str) -> tuple[str, ...]:
    """Makes the plans that a run missed; returns sentences about what was not seen."""
    from leakline.cli.progress import Progress
    from leakline.patching.missing import missing_plans
    from leakline.patching.plans import prepare

    missing = missing_plans(Path(recording))
    if not missing:
        return ()
    with Progress() as progress:
        prepared = prepare(missing, progress.update)
    planned = len(missing) - len(prepared.unplanned)
    sentences = [
        f"No patch plan could be made for {why}." for why in prepared.unplanned
    ]
    if planned > 0:
        sentences.append(_about_next_run(planned))
    return tuple(sentences)


def _about_next_run(count: int) -> str:
    what = "1 patch plan was" if count == 1 else f"{count} patch plans were"
    return f"{what} made for the next run: run again to see what happens there."
