"""Does a check: gathers facts, analyses the program, and makes the report."""

import os
from argparse import Namespace
from importlib.util import find_spec
from itertools import count
from pathlib import Path

from leakline.cli.checking.inputs import Inputs, find_inputs
from leakline.cli.progress import Progress
from leakline.errors import CheckError
from leakline.model.finding import Finding
from leakline.model.report import Coverage, LensState, Report, Run
from leakline.reports.places import relative_path
from leakline.static.analysis import (
    Analysis,
    AnalysisOptions,
    FunctionStatus,
    analyse,
)
from leakline.static.cache import trim, user_cache_folder
from leakline.static.capture.facts_cache import FACTS_FOLDER, FactsCache
from leakline.static.capture.gather import Gathered, Gatherer
from leakline.static.capture.toolchain import find_toolchain
from leakline.static.models.library import load_models
from leakline.static.program import Program


def check(arguments: Namespace) -> Report:
    """Check what the command line names.

    Raises:
        CheckError: Nothing could be looked at.
    """
    _need_solver()
    models = load_models(arguments.model)
    toolchain = find_toolchain(arguments.clang)
    inputs = find_inputs(arguments)
    cache = None if arguments.no_cache else user_cache_folder()
    jobs = arguments.jobs or len(os.sched_getaffinity(0))
    total = len(inputs.build.compilations)
    with Progress() as progress:
        done = count(1)
        gatherer = Gatherer(
            toolchain,
            FactsCache(cache) if cache else None,
            jobs,
            lambda: progress.update("reading sources", next(done), total),
        )
        gathered = gatherer.gather(inputs.build)
        if not gathered.units:
            raise CheckError(" ".join([*inputs.problems, *gathered.failures]))
        analysis = analyse(
            Program(gathered.units, gathered.links),
            models,
            _options(arguments, jobs, cache),
            lambda done, total: progress.update("analysing", done, total),
        )
    if cache:
        trim(cache / FACTS_FOLDER)
    return _report(arguments, inputs, gathered, analysis)


def _need_solver() -> None:
    if find_spec("z3") is None:
        raise CheckError(
            "the static checker needs the Z3 solver; install it with "
            "pip install 'leakline[static]'"
        )


def _options(arguments: Namespace, jobs: int, cache: Path | None) -> AnalysisOptions:
    return AnalysisOptions(
        jobs=jobs,
        malloc_may_fail=arguments.malloc_may_fail,
        null_dereference=arguments.null_dereference,
        cache=cache,
        scheduler=arguments.scheduler,
    )


def _report(
    arguments: Namespace, inputs: Inputs, gathered: Gathered, analysis: Analysis
) -> Report:
    incomplete = tuple(
        f"{_named(status)}: {status.reason}"
        for status in analysis.functions
        if not status.complete
    )
    unseen = tuple(
        f"{_named(status)} could not be checked: {status.unseen}."
        for status in analysis.functions
        if status.unseen
    )
    coverage = Coverage(
        units=len(gathered.units),
        units_failed=len(gathered.failures),
        functions=len(analysis.functions),
        incomplete=incomplete,
    )
    words = [*map(str, arguments.inputs), *(["--", *(arguments.build or [])])]
    run = Run(
        command=("leakline", "check", *(words if arguments.build else words[:-1])),
        exit_code=None,
        lenses=(("static", LensState.ACTIVE),),
        not_seen=(*inputs.problems, *gathered.failures, *unseen),
        coverage=coverage,
    )
    findings = {finding.id: finding for finding in analysis.findings}
    ordered = tuple(sorted(findings.values(), key=_order))
    return Report(run, ordered, suppressed=analysis.suppressed)


def _named(status: FunctionStatus) -> str:
    place = relative_path(status.file, Path.cwd())
    return f"{status.name} ({place}:{status.line})"


def _order(finding: Finding) -> tuple[str, int, int, str]:
    """By the place where the defect shows."""
    if finding.path:
        last = finding.path[-1]
        return last.file, last.line, last.column, finding.id
    return "", 0, 0, finding.id
