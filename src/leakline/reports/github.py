"""Findings as workflow commands, which GitHub shows beside the lines of a change."""

from collections.abc import Iterator
from pathlib import Path

from leakline.model.finding import HELD, Confidence, Finding
from leakline.model.report import LensState, Report
from leakline.reports.headlines import Place, headline, place_to_mend
from leakline.reports.plain_stacks import Stories
from leakline.reports.printable import printable


def render(report: Report, folder: Path) -> str:
    """One command per line."""
    return "".join(f"{line}\n" for line in _commands(report, folder))


def _commands(report: Report, folder: Path) -> Iterator[str]:
    stories = Stories(folder)
    for finding in report.findings:
        place = place_to_mend(finding, folder)
        lines = [headline(finding), *stories.story(finding)]
        title = f"Leakline: {finding.kind.value}"
        yield _command(_level(finding), title, lines, place)
    leaks = [one for one in report.hidden if one.kind not in HELD]
    if leaks:
        lines = [f"{len(leaks):,} more, not shown"]
        yield _command("error", "Leakline: more leaks", lines)
    if LensState.ACTIVE not in [state for _, state in report.run.lenses]:
        lines = ["Checking was not active: nothing was looked at."]
        yield _command("error", "Leakline: not checked", lines)
    for sentence in report.run.not_seen:
        yield _command("warning", "Leakline: not seen", [printable(sentence)])


def _level(finding: Finding) -> str:
    if finding.kind in HELD:
        return "notice"
    return "error" if finding.confidence is Confidence.EXACT else "warning"


def _command(
    level: str, title: str, lines: list[str], place: Place | None = None
) -> str:
    properties = {"title": title}
    if place:
        numbers = {"line": place.line, "col": place.column}
        known = {key: str(value) for key, value in numbers.items() if value}
        properties = {"file": place.file, **known, **properties}
    written = ",".join(f"{key}={_property(text)}" for key, text in properties.items())
    return f"::{level} {written}::{_data(chr(10).join(lines))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
