"""JSON reports read back, and files that only look like them."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakline.errors import RecordingError
from leakline.model.finding import Cause, Loss
from leakline.model.report import Report
from leakline.reports import json_
from leakline.reports.json_reader import read_report

from .samples import EVIDENCE, REPORTS

NOWHERE = Path("/nowhere")


def written(report: Report) -> bytes:
    return json_.render(report, NOWHERE).encode()


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_that_was_read_is_written_as_before(name: str) -> None:
    before = json.loads(written(REPORTS[name]))
    after = json.loads(written(read_report(written(REPORTS[name]), name)))
    for key in ("run", "findings", "unused_suppressions", "comparison"):
        assert after.get(key) == before.get(key)
    for kind, total in before["totals"].items():
        assert after["totals"][kind]["bytes"] == total["bytes"]
        assert after["totals"][kind]["blocks"] == total["blocks"]


@pytest.mark.parametrize("name", ["leaky", "evidence", "hostile", "compared"])
def test_findings_come_back_whole(name: str) -> None:
    report = read_report(written(REPORTS[name]), name)
    assert report.findings == REPORTS[name].findings
    assert report.comparison == REPORTS[name].comparison
    assert report.run == REPORTS[name].run


def test_whether_variables_were_seen_comes_back() -> None:
    loss = Loss(Cause.OVERWRITTEN, EVIDENCE.allocation, variables_seen=True)
    report = replace(
        REPORTS["evidence"], findings=(replace(EVIDENCE, loss=loss), EVIDENCE)
    )
    assert read_report(written(report), "compiled").findings == report.findings


def test_reports_that_do_not_say_so_are_of_programs_as_they_are() -> None:
    document = json.loads(written(REPORTS["evidence"]))
    del document["findings"][0]["loss"]["variables_seen"]
    report = read_report(json.dumps(document).encode(), "old")
    assert report.findings == REPORTS["evidence"].findings


def test_what_is_not_listed_is_remembered_as_a_total() -> None:
    report = read_report(written(REPORTS["reachable"]), "r")
    assert [(one.kind, one.bytes) for one in report.hidden] == [
        (one.kind, one.bytes) for one in REPORTS["reachable"].hidden
    ]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"{", "it is no complete JSON document"),
        (b"{}", "schema is missing or of another type"),
        (b'{"schema": "leakline/2"}', "its schema is not leakline/1"),
        (b'{"schema": "leakline/1", "findings": 3}', "findings is not a list"),
        (b'{"a":' + b"[" * 200_000, "it is nested too deeply"),
        (b'{"\xff": 1}', "it is no complete JSON document"),
        (b'{"schema": "\\ud800"}', "schema holds half a character"),
        (b'{"schema": ' + b"9" * 10_000 + b"}", "it is no complete JSON document"),
    ],
)
def test_foreign_files_are_refused_with_one_sentence(content: bytes, why: str) -> None:
    with pytest.raises(RecordingError) as raised:
        read_report(content, "old.json")
    assert str(raised.value).startswith(
        f"old.json is not a JSON report of Leakline: {why}"
    )


def places(
    value: object, path: tuple[str | int, ...] = ()
) -> list[tuple[str | int, ...]]:
    """All places in a document, from the outside in."""
    members: list[tuple[str | int, object]] = []
    if isinstance(value, dict):
        members = list(value.items())
    elif isinstance(value, list):
        members = list(enumerate(value))
    inner = [place for key, one in members for place in places(one, (*path, key))]
    return [path, *inner]


DOCUMENT = written(REPORTS["evidence"])
PLACES = [place for place in places(json.loads(DOCUMENT)) if place]
STRANGE: st.SearchStrategy[object] = st.sampled_from(
    [None, True, -1, 1.5, "", "x", [], [1], {}, {"a": 1}, 10**40]
)


@given(st.sampled_from(PLACES), STRANGE)
def test_any_strange_value_is_read_or_refused(
    place: tuple[str | int, ...], value: object
) -> None:
    document = json.loads(DOCUMENT)
    target = document
    for key in place[:-1]:
        target = target[key]
    target[place[-1]] = value
    try:
        report = read_report(json.dumps(document).encode(), "strange")
    except RecordingError:
        return
    assert json_.render(report, NOWHERE)


@given(st.integers(0, len(DOCUMENT) - 3))
def test_a_report_that_was_cut_short_is_refused(length: int) -> None:
    with pytest.raises(RecordingError):
        read_report(DOCUMENT[:length], "cut")
