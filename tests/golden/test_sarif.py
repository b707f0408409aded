"""SARIF against the schema that OASIS publishes, and what code hosts ask of it."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import jsonschema
import pytest
from sarif.loader import load_sarif_file  # type: ignore[import-untyped]  # ships no types

from leakline.model.finding import Kind
from leakline.model.report import Report
from leakline.model.stack import Stack
from leakline.reports import sarif

from .published_schemas import SARIF, published_schema
from .samples import EVIDENCE, FOLDER, HOSTILE, LOST, REACHABLE, REPORTS, RUN

HERE = Path(FOLDER)
ANY_KIND = Report(RUN, tuple(replace(LOST, kind=kind) for kind in Kind))
NOWHERE = replace(RUN, command=())


def log_of(report: Report) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(sarif.render(report, HERE))
    jsonschema.Draft7Validator(published_schema(SARIF)).validate(document)
    run: dict[str, Any] = document["runs"][0]
    return run


def results(report: Report) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = log_of(report)["results"]
    return found


def line_of(location: dict[str, Any]) -> int:
    line: int = location["physicalLocation"]["region"]["startLine"]
    return line


@pytest.mark.parametrize("name", REPORTS)
def test_every_log_follows_the_published_schema(name: str) -> None:
    log_of(REPORTS[name])


def test_the_schema_refuses_what_is_no_log() -> None:
    document = json.loads(sarif.render(REPORTS["leaky"], HERE))
    document["runs"][0]["results"][0]["level"] = "loud"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft7Validator(published_schema(SARIF)).validate(document)


def test_every_kind_has_a_rule_with_help_and_its_weakness() -> None:
    run = log_of(ANY_KIND)
    rules = run["tool"]["driver"]["rules"]
    tags = {}
    for kind, result in zip(Kind, run["results"], strict=True):
        rule = rules[result["ruleIndex"]]
        assert rule["id"] == result["ruleId"]
        assert rule["help"]["text"]
        tags[kind] = rule["properties"]["tags"]
    assert "external/cwe/cwe-401" in tags[Kind.LOST]
    assert "external/cwe/cwe-415" in tags[Kind.DOUBLE_FREE]


def test_a_leak_of_a_run_is_shown_where_the_reference_was_lost() -> None:
    (result,) = results(Report(RUN, (replace(EVIDENCE, path=()),)))
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "src/cache.c"
    assert line_of(result["locations"][0]) == 15
    assert "48 bytes in 2 blocks" in result["message"]["text"]
    assert [line_of(one) for one in result["relatedLocations"]] == [3, 22, 8, 15, 30]
    steps = result["codeFlows"][0]["threadFlows"][0]["locations"]
    assert [line_of(step["location"]) for step in steps] == [3, 22, 8, 15]
    titles = [stack["message"]["text"] for stack in result["stacks"]]
    assert "the last reference `cache` was lost here (overwritten)" in titles


def test_others_read_counts_and_places(tmp_path: Path) -> None:
    path = tmp_path / "leaks.sarif"
    path.write_text(sarif.render(REPORTS["evidence"], HERE))
    log = load_sarif_file(str(path))
    assert log.get_result_count() == 1
    (record,) = log.get_records()
    assert (record["Tool"], record["Severity"]) == ("Leakline", "warning")
    assert (record["Location"], record["Line"]) == ("src/cache.c", 15)


def test_a_leak_without_source_is_shown_at_its_module() -> None:
    stripped, unknown = results(
        Report(NOWHERE, (REACHABLE, replace(LOST, allocation=Stack())))
    )
    place = stripped["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place == {"uri": "file:///opt/app/plugin.so"}
    assert unknown["locations"][0]["physicalLocation"]


def texts(value: object) -> Iterator[str]:
    """All strings of a document."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (text for one in value.values() for text in texts(one))
    elif isinstance(value, list):
        yield from (text for one in value for text in texts(one))


def test_hostile_names_stay_text() -> None:
    run = log_of(REPORTS["hostile"])
    assert all(text.isprintable() for text in texts(run))
    (result,) = run["results"]
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert unquote(uri, errors="surrogateescape") == (
        f"file://{HOSTILE.allocation.frames[0].file}"
    )


def test_what_code_hosts_would_refuse_is_left_out_and_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert sarif.MOST_RESULTS <= 25_000
    monkeypatch.setattr(sarif, "MOST_RESULTS", 20)
    many = tuple(replace(LOST, id=f"f{number}") for number in range(30))
    run = log_of(Report(RUN, many))
    assert len(run["results"]) == 20
    said = run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"]
    assert said == "10 results did not fit into the log."


def test_suppressed_findings_are_marked_and_keep_their_place() -> None:
    *_, last = results(REPORTS["leaky"])
    assert last["suppressions"][0]["justification"] == "known-plugin-leak"
