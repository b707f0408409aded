"""A recording that is kept as a file, in every format: same input, same bytes."""

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

from .readers import pprof, pprof_total, read_github, read_junit, read_valgrind_xml
from .recorded import FILE, made

Golden = Callable[[str, str], None]
HERE = Path("/no/such")
WRITTEN = sorted(set(formats.MODULES) - formats.BINARY)


@pytest.fixture
def report(request: pytest.FixtureRequest) -> Report:
    """What the recording says; --update-golden makes the file anew."""
    if request.config.getoption("--update-golden"):
        FILE.write_bytes(made())
    return load(FILE, show=LEAKS | {Kind.REACHABLE})


def test_the_file_is_what_the_format_says(report: Report) -> None:
    assert FILE.read_bytes() == made()
    assert {one.kind for one in report.findings} == LEAKS | {Kind.REACHABLE}


@pytest.mark.parametrize("name", WRITTEN)
def test_every_format_of_the_recording_is_as_reviewed(
    name: str, report: Report, golden: Golden
) -> None:
    written = formats.render(name, report, HERE)
    assert written == formats.render(name, load(FILE, show=frozenset(Kind)), HERE)
    golden(f"recorded.{name}", written.decode())


def test_text_and_profile_of_the_recording_are_as_reviewed(
    report: Report, golden: Golden, tmp_path: Path
) -> None:
    golden("recorded.txt", text.render(report, Style(HERE)))
    path = tmp_path / "profile"
    path.write_bytes(formats.render("pprof", report, HERE))
    golden("recorded.pprof.txt", pprof(path, "-raw"))


def test_all_formats_count_the_same(report: Report, tmp_path: Path) -> None:
    lost = [one for one in report.findings if one.kind in LEAKS]
    size, blocks = sum(one.bytes for one in lost), sum(one.blocks for one in lost)
    written = {}
    for name in formats.MODULES:
        written[name] = tmp_path / name
        written[name].write_bytes(formats.render(name, report, HERE))
    verdict = f"{len(lost)} leaks: {size} bytes in {blocks} blocks"
    assert verdict in text.render(report, Style(HERE))
    totals = json.loads(written["json"].read_text())["totals"]
    leaks = [totals[kind.value] for kind in LEAKS]
    assert sum(one["bytes"] for one in leaks) == size
    assert sum(one["blocks"] for one in leaks) == blocks
    assert pprof_total(written["pprof"], "leaked_space") == size
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
    data = page.partition('id="data">')[2].partition("</script>")[0]
    assert json.loads(data)["totals"] == totals
