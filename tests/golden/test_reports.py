import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from leakline.model.stack import Frame, Stack
from leakline.reports import json_, suppressions, text
from leakline.reports.source import is_newer, source_lines
from leakline.reports.style import Style

from .samples import FOLDER, REPORTS

SCHEMA = Path(__file__).parents[2] / "docs" / "schema" / "leakline-1.schema.json"
SOURCES = {
    "src/list.c": "#include <stdlib.h>\n\n\tstruct item *i = malloc(192);\n}\n",
}

Golden = Callable[[str, str], None]


@pytest.fixture
def style(tmp_path: Path) -> Style:
    """A style whose folder holds some of the sources."""
    for name, content in SOURCES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
    return Style(tmp_path)


@pytest.mark.parametrize("name", REPORTS)
def test_text_report_is_as_reviewed(name: str, golden: Golden) -> None:
    golden(f"{name}.txt", text.render(REPORTS[name], Style(Path(FOLDER))))


def test_text_report_on_a_terminal_is_as_reviewed(golden: Golden) -> None:
    style = Style(Path(FOLDER), colour=True, width=64)
    golden("leaky-terminal.txt", text.render(REPORTS["leaky"], style))


@pytest.mark.parametrize("name", REPORTS)
def test_json_report_is_as_reviewed(name: str, golden: Golden) -> None:
    document = json.loads(json_.render(REPORTS[name], Path(FOLDER)))
    golden(f"{name}.json", json.dumps(document, indent=1) + "\n")


@pytest.mark.parametrize("name", REPORTS)
def test_json_report_follows_the_published_schema(name: str) -> None:
    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    document = json.loads(json_.render(REPORTS[name], Path(FOLDER), "leak:x\n"))
    jsonschema.Draft202012Validator(schema).validate(document)


def test_the_schema_describes_every_key_that_is_written() -> None:
    schema = json.loads(SCHEMA.read_text())
    report = replace(REPORTS["evidence"], comparison=REPORTS["compared"].comparison)
    document = json_.as_json(report, Path(FOLDER), "")
    finding = document["findings"][0]
    definitions = schema["$defs"]
    assert set(document) == set(schema["properties"])
    assert set(finding) == set(definitions["finding"]["properties"])
    assert set(document["run"]) == set(definitions["run"]["properties"])
    comparison = document["comparison"]
    assert set(comparison) == set(definitions["comparison"]["properties"])
    assert set(comparison["grown"][0]) == set(definitions["growth"]["properties"])
    frame = finding["allocation"]["frames"][0]
    assert set(frame) == set(definitions["frame"]["properties"])


def test_generated_valgrind_suppressions_are_as_reviewed(golden: Golden) -> None:
    findings = REPORTS["leaky"].findings + REPORTS["reachable"].findings
    golden("suppressions-valgrind.txt", suppressions.valgrind(findings))


def test_generated_lsan_suppressions_are_as_reviewed(golden: Golden) -> None:
    findings = REPORTS["leaky"].findings + REPORTS["reachable"].findings
    golden("suppressions-lsan.txt", suppressions.lsan(findings))


@pytest.mark.parametrize("name", REPORTS)
def test_reports_hold_nothing_that_steers_a_terminal(name: str) -> None:
    report = REPORTS[name]
    printed = text.render(report, Style(Path(FOLDER)))
    printed += suppressions.valgrind(report.findings)
    printed += suppressions.lsan(report.findings)
    assert printed.replace("\n", "").isprintable()
    assert json_.render(report, Path(FOLDER)).replace("\n", "").isascii()


def test_the_source_of_the_users_own_frame_is_shown(style: Style) -> None:
    finding = replace(
        REPORTS["leaky"].findings[0],
        allocation=Stack((Frame("make_item", "src/list.c", 3, "prog"),)),
    )
    shown = text.render(replace(REPORTS["leaky"], findings=(finding,)), style)
    assert "  >     3 |     struct item *i = malloc(192);" in shown
    assert "        4 | }" in shown
    assert "        2 |" in shown
    assert "#include" not in shown


def test_source_that_was_changed_after_the_build_is_marked(style: Style) -> None:
    program = style.folder / "prog"
    program.touch()
    frame = Frame("make_item", "src/list.c", 3, str(program))
    finding = replace(REPORTS["leaky"].findings[0], allocation=Stack((frame,)))
    report = replace(REPORTS["leaky"], findings=(finding,))
    os.utime(style.folder / "src/list.c", (1, 1))
    assert "(changed since it was built)" not in text.render(report, style)
    is_newer.cache_clear()
    os.utime(program, (0, 0))
    assert "(changed since it was built)" in text.render(report, style)


@pytest.mark.parametrize("file", ["/etc/passwd", "secret.txt", "pipe.c", "missing.c"])
def test_only_ordinary_source_files_are_quoted(file: str, style: Style) -> None:
    os.mkfifo(style.folder / "pipe.c")
    (style.folder / "secret.txt").write_text("secret\n")
    assert source_lines(file, 1, style.folder) == []
