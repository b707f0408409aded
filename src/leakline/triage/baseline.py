"""Baselines: reports of an earlier state, whose findings are not news."""

import json
from dataclasses import replace
from pathlib import Path

from leakline.errors import SuppressionError
from leakline.model.report import Report


def read_baseline(path: Path) -> frozenset[str]:
    """Ids of the findings in a JSON report.

    Raises:
        SuppressionError: The file cannot be read or is no report of Leakline.
    """
    try:
        document = json.loads(path.read_bytes())
        findings = document["findings"] + document.get("suppressed", [])
        return frozenset(str(finding["id"]) for finding in findings)
    except OSError as error:
        raise SuppressionError(
            f"the baseline {path} cannot be read: {error.strerror}"
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise SuppressionError(
            f"the baseline {path} is not a report that --format json wrote"
        ) from error


def apply_baseline(report: Report, known: frozenset[str]) -> Report:
    """Moves the findings that the baseline has aside."""
    new = tuple(finding for finding in report.findings if finding.id not in known)
    old = tuple(finding for finding in report.findings if finding.id in known)
    return replace(
        report,
        findings=new,
        suppressed=report.suppressed + tuple(("baseline", finding) for finding in old),
    )
