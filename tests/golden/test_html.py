"""The page for a browser: its data as reviewed, and what it must never hold."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from leakline.model.finding import Finding
from leakline.model.report import Report
from leakline.model.stack import Frame, Stack
from leakline.reports import json_
from leakline.reports.html import sources
from leakline.reports.html.render import render
from leakline.reports.privacy import Privacy

from .readers import read_page
from .samples import FOLDER, LOST, REPORTS, RUN

Golden = Callable[[str, str], None]
PRIVACY = Privacy(Path(FOLDER))


@pytest.mark.parametrize("name", REPORTS)
def test_the_embedded_data_is_as_reviewed(name: str, golden: Golden) -> None:
    data = read_page(render(REPORTS[name], PRIVACY))
    golden(f"{name}.html.json", json.dumps(data, indent=1) + "\n")


@pytest.mark.parametrize("name", REPORTS)
def test_the_same_report_gives_the_same_bytes(name: str) -> None:
    report = REPORTS[name]
    copies = tuple(_copy(finding) for finding in report.findings)
    page = render(report, PRIVACY)
    assert page == render(report, PRIVACY)
    assert page == render(replace(report, findings=copies), PRIVACY)
    assert page.isascii()


@pytest.mark.parametrize("name", REPORTS)
def test_totals_agree_with_the_json_report(name: str) -> None:
    document = json_.as_json(REPORTS[name], Path(FOLDER))
    data = read_page(render(REPORTS[name], PRIVACY))
    assert data["totals"] == document["totals"]
    for key in ("id", "kind", "blocks", "bytes"):
        if name != "hostile":
            assert _column(data, key) == _column(document, key)


def test_generated_suppressions_are_in_the_page() -> None:
    data = read_page(render(REPORTS["leaky"], PRIVACY, "leak:make_item\n"))
    assert data["generated"] == "leak:make_item\n"


def test_the_page_refers_to_nothing_outside_itself() -> None:
    page = render(REPORTS["leaky"], PRIVACY)
    assert not re.search(r"https?:|\bsrc=|@import|url\(|<link", page)
    assert "default-src 'none'" in page


def test_stripped_paths_are_nowhere_in_the_page(tmp_path: Path) -> None:
    secret = f"{FOLDER}/src"
    run = replace(
        RUN,
        command=(f"-I{secret}/include",),
        not_seen=(f"ran {secret}/tool in {FOLDER}",),
    )
    lambda_of_clang = Stack((Frame(f"'lambda at {secret}/main.c:3:4'"),))
    report = replace(
        REPORTS["evidence"],
        run=run,
        findings=(*REPORTS["evidence"].findings, replace(LOST, leader=lambda_of_clang)),
    )
    privacy = Privacy(tmp_path, strip=(FOLDER, f"{secret}/"))
    page = render(report, privacy)
    assert FOLDER not in page
    data = read_page(page)
    assert data["files"] == ["list.c", "cache.c", "main.c"]
    assert data["run"]["command"] == ["-Iinclude"]
    assert data["run"]["not_seen"] == ["ran tool in ."]


def test_a_folder_with_a_similar_name_is_not_cut(tmp_path: Path) -> None:
    privacy = Privacy(tmp_path, strip=("/home/user",))
    assert privacy.path("/home/username/a.c") == "/home/username/a.c"
    assert privacy.text("see /home/username") == "see /home/username"


def test_source_is_embedded_unless_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret.c").write_text("int secret;\n\tint more;\n")
    report = _report_about(Frame("f", "secret.c", 2, "/app"))
    data = read_page(render(report, Privacy(tmp_path)))
    assert data["sources"] == {"0": [[1, ["int secret;", "    int more;"]]]}
    without = render(report, Privacy(tmp_path, with_source=False))
    assert "int secret" not in without
    assert read_page(without)["sources"] == {}


@pytest.mark.parametrize("file", ["/usr/include/stdio.h", "notes.txt", "missing.c"])
def test_only_the_users_own_source_files_are_read_page(
    file: str, tmp_path: Path
) -> None:
    (tmp_path / "notes.txt").write_text("secret\n")
    report = _report_about(Frame("f", file, 1, "/app"))
    assert read_page(render(report, Privacy(tmp_path)))["sources"] == {}


def test_of_a_long_file_the_lines_around_named_ones_are_read_page(
    tmp_path: Path,
) -> None:
    (tmp_path / "long.c").write_text("".join(f"{n}\n" for n in range(1, 9001)))
    frames = [Frame("f", "long.c", line, "/app") for line in (1, 40, 500, 8999, 9999)]
    data = read_page(render(_report_about(*frames), Privacy(tmp_path)))
    parts = {first: len(texts) for first, texts in data["sources"]["0"]}
    assert parts == {1: 60, 480: 41, 8979: 22}
    assert all(texts[0] == str(first) for first, texts in data["sources"]["0"])


def test_files_that_do_not_fit_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "_BUDGET_CHARACTERS", 2000)
    for name in ("a.c", "b.c", "c.c"):
        (tmp_path / name).write_text("a line of some length\n" * 70)
    frames = [Frame("f", name, 1, "/app") for name in ("a.c", "b.c", "c.c")]
    data = read_page(render(_report_about(*frames), Privacy(tmp_path)))
    lengths = {file: len(parts[0][1]) for file, parts in data["sources"].items()}
    assert lengths == {"0": 70}
    assert data["sources_left_out"] == 2


def _report_about(*frames: Frame) -> Report:
    return Report(RUN, (replace(LOST, allocation=Stack(frames)),))


def _copy(finding: Finding) -> Finding:
    """An equal finding whose stack is an object of its own."""
    return replace(finding, allocation=replace(finding.allocation))


def _column(document: dict[str, Any], key: str) -> list[object]:
    return [finding[key] for finding in document["findings"]]
