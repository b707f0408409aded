"""The static checker's findings as text and SARIF, and what a baseline hides."""

from pathlib import Path
from typing import Any

import pytest

from leakline.cli.arguments import Parser
from leakline.model.finding import (
    Cause,
    Confidence,
    Engine,
    Finding,
    Kind,
    Loss,
    PathStep,
)
from leakline.model.report import Coverage, LensState, Report, Run
from leakline.model.stack import Frame, Stack
from leakline.reports import check_text
from leakline.reports.sarif import as_sarif
from leakline.reports.style import Style
from leakline.triage.comparison import compare

SOURCE = """char *load(int n)
{
\tchar *p = malloc(n);
\tif (n > 3)
\t\treturn 0;
\treturn p;
}
"""

TEXT = """\
a.c:5:3: leak: 12 bytes allocated in load(), last held by `p`
    1. a.c:3:12: allocated here by `malloc()`
       3 |     char *p = malloc(n);
         |               ^
    2. a.c:4:6: taking the true branch: n > 3
       4 |     if (n > 3)
         |         ^
    3. a.c:5:3: lost here: `p` goes out of scope
       5 |         return 0;
         |         ^
  note: This happens when `n` is at least 4.
  help: Release `p` before line 5.

Not seen:
  - b.c could not be analysed: expected expression (b.c:1:2).

Found 1 leak.
Checked 2 units, 1 not readable: 3 of 4 functions fully analysed.
Not fully analysed:
  - huge (a.c:40): too many paths
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.c").write_text(SOURCE)
    return tmp_path


def leak(folder: Path, identity: str = "id1") -> Finding:
    file = str(folder / "a.c")
    return Finding(
        id=identity,
        engines=(Engine.STATIC,),
        kind=Kind.LOST,
        confidence=Confidence.EXACT,
        blocks=1,
        bytes=12,
        allocation=Stack((Frame("load", file, 3, column=12),)),
        loss=Loss(Cause.OUT_OF_SCOPE, Stack((Frame("load", file, 5),)), "p"),
        path=(
            PathStep(file, 3, "allocated here by `malloc()`", 12),
            PathStep(file, 4, "taking the true branch: n > 3", 6),
            PathStep(file, 5, "lost here: `p` goes out of scope", 3),
        ),
        notes=("This happens when `n` is at least 4.",),
        advice="Release `p` before line 5.",
    )


def report(*findings: Finding, failed: tuple[str, ...] = ()) -> Report:
    incomplete = ("huge (a.c:40): too many paths",) if failed else ()
    coverage = Coverage(2, len(failed), 4, incomplete)
    run = Run(
        command=("leakline", "check", "a.c"),
        exit_code=None,
        lenses=(("static", LensState.ACTIVE),),
        not_seen=failed,
        coverage=coverage,
    )
    return Report(run, findings)


def test_the_path_is_shown_step_by_step(folder: Path) -> None:
    failed = ("b.c could not be analysed: expected expression (b.c:1:2).",)
    shown = report(leak(folder), failed=failed)
    assert check_text.render(shown, Style(folder)) == TEXT


def test_misuse_is_named_by_where_it_shows(folder: Path) -> None:
    step = PathStep(str(folder / "a.c"), 6, "released a second time", 9)
    finding = Finding(
        *("x", (Engine.STATIC,), Kind.DOUBLE_FREE, Confidence.LIKELY, 1, 0, Stack()),
        path=(step,),
    )
    text = check_text.render(report(finding), Style(folder))
    assert text.startswith("a.c:6:9: double free: released a second time\n")
    assert "Found 1 double free." in text


def test_nothing_found_is_said(folder: Path) -> None:
    text = check_text.render(report(), Style(folder))
    assert text == (
        "No leaks found.\nChecked 2 units: 4 of 4 functions fully analysed.\n"
    )


def test_a_path_without_source_still_reads(tmp_path: Path) -> None:
    text = check_text.render(report(leak(tmp_path / "gone")), Style(tmp_path))
    assert "gone/a.c:3:12: allocated here" in text
    assert "|" not in text


def test_names_from_sources_cannot_steer_a_terminal(folder: Path) -> None:
    step = PathStep(str(folder / "a.c"), 3, "lost\x1b[2J here")
    finding = Finding(
        "x", (Engine.STATIC,), Kind.LOST, Confidence.LIKELY, 1, 0, Stack(), path=(step,)
    )
    assert "\x1b" not in check_text.render(report(finding), Style(folder))


def sarif_run(folder: Path, shown: Report) -> dict[str, Any]:
    document = as_sarif(shown, folder, "1.0")
    assert document["version"] == "2.1.0"
    run: dict[str, Any] = document["runs"][0]
    return run


def test_sarif_carries_the_path_as_a_code_flow(folder: Path) -> None:
    run = sarif_run(folder, report(leak(folder)))
    result = run["results"][0]
    rules = run["tool"]["driver"]["rules"]
    assert rules[result["ruleIndex"]]["id"] == result["ruleId"] == "leak"
    steps = result["codeFlows"][0]["threadFlows"][0]["locations"]
    assert [
        step["location"]["physicalLocation"]["region"]["startLine"] for step in steps
    ] == [3, 4, 5]
    assert result["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "a.c", "uriBaseId": "SRCROOT"},
        "region": {"startLine": 5, "startColumn": 3},
    }
    assert result["partialFingerprints"] == {"leakline/v1": "id1"}


def test_sarif_says_what_was_not_seen(folder: Path) -> None:
    run = sarif_run(folder, report(failed=("b.c could not be analysed.",)))
    notes = run["invocations"][0]["toolExecutionNotifications"]
    assert [note["message"]["text"] for note in notes] == [
        "b.c could not be analysed.",
        "Not fully analysed: huge (a.c:40): too many paths",
    ]


def test_sarif_has_a_rule_for_every_kind(folder: Path) -> None:
    for kind in Kind:
        finding = Finding("x", (Engine.STATIC,), kind, Confidence.EXACT, 1, 0, Stack())
        assert sarif_run(folder, report(finding))["results"][0]["message"]["text"]


def test_names_that_are_no_text_become_uris(folder: Path) -> None:
    step = PathStep(str(folder / "odd \udcff.c"), 3, "lost here")
    finding = Finding(
        "x", (Engine.STATIC,), Kind.LOST, Confidence.EXACT, 1, 0, Stack(), path=(step,)
    )
    result = sarif_run(folder, report(finding))["results"][0]
    place = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place["uri"] == "odd%20%FF.c"


def test_a_baseline_sets_apart_what_it_has(folder: Path) -> None:
    now = report(leak(folder), leak(folder, "id2"))
    compared = compare(now, report(leak(folder), leak(folder, "id3")), "old.json")
    assert [finding.id for finding in compared.findings] == ["id2"]
    shown = check_text.render(compared, Style(folder))
    assert "Compared with old.json" in shown
    assert "1 new, 0 grown, 1 gone, 1 not grown" in shown
    results = sarif_run(folder, compared)["results"]
    assert [(one["partialFingerprints"], one["baselineState"]) for one in results] == [
        ({"leakline/v1": "id2"}, "new"),
        ({"leakline/v1": "id1"}, "unchanged"),
    ]


def test_words_after_dashes_are_kept_apart() -> None:
    parser = Parser(prog="x", description="")
    parser.add_argument("inputs", nargs="*")
    parser.add_argument("--flag", action="store_true")
    parser.keep_after_dashes("build")
    parsed = parser.parse_args(["--flag", "--", "make", "--", "-j4"])
    assert (parsed.flag, parsed.inputs) == (True, [])
    assert parsed.build == ["make", "--", "-j4"]
