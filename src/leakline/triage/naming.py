"""Finds the finding that a user means."""

from leakline.model.finding import Finding
from leakline.model.report import Report

_SHORTEST_BEGINNING = 4


def find_finding(report: Report, name: str) -> Finding | None:
    """The one with this id, beginning of an id, or number in the report.

    None when there is none, and when several ids begin so.
    """
    for finding in report.findings:
        if name in (finding.id, *finding.other_ids):
            return finding
    number = name.removeprefix("#")
    if number.isascii() and number.isdigit() and len(number) < _SHORTEST_BEGINNING:
        place = int(number) - 1
        return report.findings[place] if 0 <= place < len(report.findings) else None
    alike = [one for one in report.findings if one.id.startswith(name)]
    is_long = len(name) >= _SHORTEST_BEGINNING
    return alike[0] if len(alike) == 1 and is_long else None
