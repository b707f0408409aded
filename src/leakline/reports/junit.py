"""The report as JUnit XML: each finding is a test case, and leaks are failures.

A test case's name has no lines and no sizes, so that a CI system knows it again. What
makes `leakline` fail makes a test case fail too, shown or not.
"""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from leakline.model.finding import HELD, Finding
from leakline.model.report import LensState, Report
from leakline.reports.calls import label
from leakline.reports.headlines import allocating_frame, headline, place_to_mend
from leakline.reports.plain_stacks import Stories
from leakline.reports.quantities import plural
from leakline.reports.xml import HEADER, lines_element, start

_SUITE = "leakline"


def render(report: Report, folder: Path) -> str:
    """The whole document."""
    return "\n".join([HEADER, *_document(report, folder), ""])


def _document(report: Report, folder: Path) -> Iterator[str]:
    cases = list(_cases(report, folder))
    outcomes = [case.outcome for case in cases]
    counts = {
        "tests": len(cases),
        "failures": outcomes.count("failure"),
        "errors": outcomes.count("error"),
        "skipped": outcomes.count("skipped"),
        "time": 0,
    }
    yield start("testsuites", name=_SUITE, **counts)
    yield start("testsuite", name=shlex.join(report.run.command) or _SUITE, **counts)
    yield from map(_written, cases)
    if report.run.not_seen:
        yield lines_element("system-out", ["Not seen:", *report.run.not_seen])
    yield "</testsuite>"
    yield "</testsuites>"


class _Case(NamedTuple):
    """A test case: its outcome is the name of the element in it, empty if it passed."""

    name: str
    outcome: str = ""
    message: str = ""
    details: tuple[str, ...] = ()


def _cases(report: Report, folder: Path) -> Iterator[_Case]:
    yield _checking(report)
    stories = Stories(folder)
    for finding in report.findings:
        yield _finding(finding, stories, folder)
    hidden = [one for one in report.hidden if one.kind not in HELD]
    if hidden:
        message = f"{plural(len(hidden), 'leak')} not shown"
        yield _Case("leaks that are not shown", "failure", message)
    for name, finding in report.suppressed:
        yield _Case(_name(finding), "skipped", f"suppressed by {name}")
    if report.comparison:
        for finding in report.comparison.known:
            yield _Case(_name(finding), "skipped", "known: it is in the baseline")


def _checking(report: Report) -> _Case:
    name = "checking was active"
    if LensState.ACTIVE in [state for _, state in report.run.lenses]:
        return _Case(name)
    return _Case(name, "error", "Checking was not active: nothing was looked at.")


def _finding(finding: Finding, stories: Stories, folder: Path) -> _Case:
    place = place_to_mend(finding, folder)
    where = (f"{place.file}:{place.line}",) if place else ()
    outcome = "" if finding.kind in HELD else "failure"
    details = (*where, *stories.story(finding))
    return _Case(_name(finding), outcome, headline(finding), details)


def _name(finding: Finding) -> str:
    frame = allocating_frame(finding)
    function = label(frame) if frame else "unknown function"
    return f"{finding.kind.value} block of {function} [{finding.id}]"


def _written(case: _Case) -> str:
    opening = start("testcase", classname=_SUITE, name=case.name, time=0)
    if case.outcome:
        content = lines_element(case.outcome, case.details, message=case.message)
    elif case.message:
        content = lines_element("system-out", [case.message, *case.details])
    else:
        content = ""
    return f"{opening}{content}</testcase>"
