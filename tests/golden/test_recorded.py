"""Recordings that are kept as files, in every format: same input, same bytes."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from leakline.cli import formats
from leakline.dynamic.load import LEAKS, load
from leakline.model.finding import Kind
from leakline.model.report import Report
from leakline.reports import text
from leakline.reports.html.render import render as html_page
from leakline.reports.privacy import Privacy
from leakline.reports.style import Style

from . import recorded_idleness, recorded_losses
from .readers import (
    pprof,
    pprof_total,
    read_github,
    read_junit,
    read_page,
    read_valgrind_xml,
)

Golden = Callable[[str, str], None]
HERE = Path("/no/such")
WRITTEN = sorted(set(formats.MODULES) - formats.BINARY)
FOLDER = Path(__file__).parent / "recordings"


# What each of the files holds.
MADE = {"losses": recorded_losses.made, "idleness": recorded_idleness.made}
KINDS = {
    "losses": LEAKS | {Kind.REACHABLE},
    "idleness": {Kind.STALE, Kind.NEVER_USED, Kind.REACHABLE},
}


@pytest.fixture(params=MADE)
def name(request: pytest.FixtureRequest) -> str:
    """Each recording in turn; --update-golden makes its file anew."""
    name: str = request.param
    if request.config.getoption("--update-golden"):
        _file(name).write_bytes(MADE[name]())
    return name


@pytest.fixture
def report(name: str) -> Report:
    """What the recording says."""
    return load(_file(name), show=frozenset(Kind))


def _file(name: str) -> Path:
    return FOLDER / f"{name}.leakline"


def test_the_file_is_what_the_format_says(name: str, report: Report) -> None:
    assert _file(name).read_bytes() == MADE[name]()
    assert {one.kind for one in report.findings} == KINDS[name]


@pytest.mark.parametrize("format_name", WRITTEN)
def test_every_format_of_the_recording_is_as_reviewed(
    format_name: str, name: str, report: Report, golden: Golden
) -> None:
    written = formats.render(format_name, report, HERE)
    again = load(_file(name), show=frozenset(Kind))
    assert written == formats.render(format_name, again, HERE)
    golden(f"recorded-{name}.{format_name}", written.decode())


def test_text_and_profile_of_the_recording_are_as_reviewed(
    name: str, report: Report, golden: Golden, tmp_path: Path
) -> None:
    golden(f"recorded-{name}.txt", text.render(report, Style(HERE)))
    path = tmp_path / "profile"
    path.write_bytes(formats.render("pprof", report, HERE))
    golden(f"recorded-{name}.pprof.txt", pprof(path, "-raw"))


def test_the_page_of_the_recording_is_as_reviewed(
    name: str, report: Report, golden: Golden
) -> None:
    page = html_page(report, Privacy(HERE))
    again = load(_file(name), show=frozenset(Kind))
    assert page == html_page(again, Privacy(HERE))
    golden(f"recorded-{name}.html.json", json.dumps(read_page(page), indent=1) + "\n")


def test_all_formats_count_the_same(report: Report, tmp_path: Path) -> None:
    lost = [one for one in report.findings if one.kind in LEAKS]
    size, blocks = sum(one.bytes for one in lost), sum(one.blocks for one in lost)
    written = {}
    for name in formats.MODULES:
        written[name] = tmp_path / name
        written[name].write_bytes(formats.render(name, report, HERE))
    verdict = f"{len(lost)} leaks: {size} bytes in {blocks} blocks"
    assert (verdict in text.render(report, Style(HERE))) == bool(lost)
    totals = json.loads(written["json"].read_text())["totals"]
    leaks = [one for kind, one in totals.items() if Kind(kind) in LEAKS]
    assert sum(one["bytes"] for one in leaks) == size
    assert sum(one["blocks"] for one in leaks) == blocks
    assert pprof_total(written["pprof"], "leaked_space") == size
    assert pprof_total(written["pprof"], "inuse_space") == sum(
        one["bytes"] for one in totals.values()
    )
    results = json.loads(written["sarif"].read_text())["runs"][0]["results"]
    quiet = [one for one in results if one["level"] == "note"]
    assert len(results) - len(quiet) == len(lost)
    assert (
        sum(one["properties"]["bytes"] for one in results if one not in quiet) == size
    )
    log = written["memcheck"].read_text()
    amounts = re.findall(r"(?:definitely|indirectly) lost: (\d+) bytes in (\d+)", log)
    assert sum(int(one[0]) for one in amounts) == size
    assert sum(int(one[1]) for one in amounts) == blocks
    errors = read_valgrind_xml(written["valgrind-xml"]).errors
    assert sum(error.kind != "Leak_StillReachable" for error in errors) == len(lost)
    assert read_junit(written["junit"]).failures == len(lost)
    commands = read_github(written["github"].read_text())
    titles = [command.properties["title"] for command in commands]
    assert sum(title.endswith(" lost") for title in titles) == len(lost)
    page = html_page(report, Privacy(HERE))
    assert read_page(page)["totals"] == totals
