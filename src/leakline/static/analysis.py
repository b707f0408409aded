"""The static checker's entry: from a program to findings."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from leakline.model.finding import Finding
from leakline.static.cluster import connected
from leakline.static.component import Checker
from leakline.static.engine.context import Options
from leakline.static.engine.defects import Brought, Defect
from leakline.static.engine.function import Checked
from leakline.static.models.library import Models
from leakline.static.partners import Releasers
from leakline.static.program import Program
from leakline.static.reporting import Reporter
from leakline.static.schedule import Schedule, local_processes
from leakline.static.solver import Solver
from leakline.static.summary_cache import SummaryCache
from leakline.static.suppression import split_suppressed

# Programs below this are checked before worker processes would have started.
_SMALL_INSTRUCTIONS = 3000


@dataclass(frozen=True, slots=True)
class AnalysisOptions:
    """How to analyse.

    Attributes:
        jobs: Worker processes.
        malloc_may_fail: Also follow paths on which malloc returns null.
        null_dereference: Report uses of an allocation that may be null.
        cache: The user's cache folder; None keeps nothing.
        scheduler: Address of a Dask cluster's scheduler; empty for processes of this
            machine.
    """

    jobs: int = 1
    malloc_may_fail: bool = False
    null_dereference: bool = False
    cache: Path | None = None
    scheduler: str = ""


@dataclass(frozen=True, slots=True)
class FunctionStatus:
    """How well one function was seen.

    Attributes:
        complete: Every path was followed.
        reason: Why not, when it is not complete.
        unseen: Why it could not be judged at all; empty when it could.
    """

    name: str
    file: str
    line: int
    complete: bool
    reason: str
    unseen: str = ""


@dataclass(frozen=True, slots=True)
class Analysis:
    """The result.

    Attributes:
        suppressed: Findings hidden by a comment, with the comment's place.
        latent: Defects that no caller in the program brings about.
        walked: Instructions walked, functions taken from the cache not counted anew.
    """

    findings: tuple[Finding, ...]
    functions: tuple[FunctionStatus, ...]
    suppressed: tuple[tuple[str, Finding], ...] = ()
    latent: int = 0
    walked: int = 0


def analyse(
    program: Program,
    models: Models,
    options: AnalysisOptions,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Analysis:
    """Check every function of a program.

    Raises:
        CheckError: The cluster that was asked for cannot be used.
    """
    checked = _check(program, models, options, progress)
    shown = list(_reported(program, checked))
    findings, suppressed = split_suppressed(
        Reporter(program, Releasers(program, checked)).findings(shown)
    )
    defects = sum(len(found.defects) for found in checked.values())
    return Analysis(
        findings=findings,
        functions=tuple(_status(program, name, checked) for name in program.functions),
        suppressed=suppressed,
        latent=defects - len(shown),
        walked=sum(found.walked for found in checked.values()),
    )


def _check(
    program: Program,
    models: Models,
    options: AnalysisOptions,
    progress: Callable[[int, int], None],
) -> dict[str, Checked]:
    solver = Solver()
    checker = Checker(program, models, _engine_options(options), solver)
    folder = None if options.cache is None else options.cache / "summaries"
    try:
        with SummaryCache(folder) as cache:
            schedule = Schedule(checker, cache, progress)
            if options.scheduler:
                _run_on_cluster(schedule, checker, options.scheduler)
            elif options.jobs > 1 and not _is_small(program):
                with local_processes(checker, options.jobs) as submit:
                    schedule.run_on(submit, options.jobs)
            else:
                schedule.run_here()
    finally:
        solver.close()
    return schedule.checked


def _run_on_cluster(schedule: Schedule, checker: Checker, address: str) -> None:
    with connected(address, checker) as cluster:
        schedule.run_on(cluster.submit, cluster.workers, cluster.need_workers)


def _engine_options(options: AnalysisOptions) -> Options:
    return Options(
        allocation_may_fail=options.malloc_may_fail or options.null_dereference,
        null_dereference=options.null_dereference,
    )


def _is_small(program: Program) -> bool:
    total = sum(entry.function.instructions for entry in program.functions.values())
    return total < _SMALL_INSTRUCTIONS


def _reported(
    program: Program, checked: Mapping[str, Checked]
) -> list[tuple[Defect, Brought | None]]:
    """Defects that some call brings about, or that need no particular one."""
    roots = _roots(program)
    brought: dict[str, Brought] = {}
    for name in program.functions:
        for item in checked[name].brought:
            if item.manifest or name in roots:
                brought.setdefault(item.identity, item)
    found: list[tuple[Defect, Brought | None]] = []
    for name in program.functions:
        for defect in checked[name].defects:
            if defect.manifest or name in roots:
                found.append((defect, None))
            elif defect.identity in brought:
                found.append((defect, brought[defect.identity]))
    return found


def _roots(program: Program) -> set[str]:
    """Functions that code outside the program may call with anything."""
    home = {name: ids for ids in program.components for name in ids}
    called = {
        callee
        for name in program.functions
        for callee in program.callees(name)
        if home[callee] is not home[name]
    }
    return {
        name
        for name in program.functions
        if program.is_address_taken(name) or called.isdisjoint(home[name])
    }


def _status(
    program: Program, name: str, checked: Mapping[str, Checked]
) -> FunctionStatus:
    entry = program.functions[name]
    taint, unseen = checked[name].taint, checked[name].unseen
    return FunctionStatus(
        entry.function.display,
        entry.function.file,
        entry.function.line,
        not taint,
        taint,
        unseen,
    )
