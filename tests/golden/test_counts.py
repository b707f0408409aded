"""Whatever was found, all formats count the same of it."""

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

from hypothesis import given, settings
from hypothesis import strategies as st

from leakline.cli import formats
from leakline.dynamic.load import LEAKS
from leakline.model.finding import HELD, Engine, Finding
from leakline.model.report import Report
from leakline.reports import text
from leakline.reports.html.render import render as html_page
from leakline.reports.json_reader import read_report
from leakline.reports.privacy import Privacy
from leakline.reports.style import Style

from .readers import read_github
from .samples import EVIDENCE, FOLDER, HOSTILE, INDIRECT, LOST, REACHABLE, RUN

MEMORY = LEAKS | HELD
SAMPLES = st.sampled_from([LOST, EVIDENCE, INDIRECT, REACHABLE, HOSTILE])
COUNTS = st.integers(1, 10**9)


@st.composite
def findings(draw: st.DrawFn) -> Finding:
    return replace(
        draw(SAMPLES),
        id=draw(st.text("0123456789abcdef", min_size=8, max_size=8)),
        engines=(Engine.REACH,),
        kind=draw(st.sampled_from(sorted(MEMORY, key=str))),
        blocks=draw(COUNTS),
        bytes=draw(COUNTS),
        indirect_blocks=0,
        indirect_bytes=0,
    )


REPORTS = st.lists(findings(), max_size=6, unique_by=lambda one: one.id).map(
    lambda found: Report(RUN, tuple(found))
)


def written(name: str, report: Report) -> str:
    return formats.render(name, report, Path(FOLDER)).decode()


def amounts(found: Iterable[Finding]) -> tuple[int, int]:
    counted = list(found)
    return sum(one.bytes for one in counted), sum(one.blocks for one in counted)


@settings(max_examples=40)
@given(REPORTS)
def test_sizes_and_blocks_are_the_same_everywhere(report: Report) -> None:
    size, blocks = amounts(report.findings)
    lost_size, lost_blocks = amounts(
        one for one in report.findings if one.kind in LEAKS
    )
    document = json.loads(written("json", report))
    totals = document["totals"].values()
    assert sum(one["bytes"] for one in totals) == size
    assert sum(one["blocks"] for one in totals) == blocks
    log = written("memcheck", report).replace(",", "")
    kinds = "definitely lost|indirectly lost|still reachable"
    summary = re.findall(rf"(?:{kinds}): (\d+) bytes in (\d+) blocks", log)
    assert sum(int(one[0]) for one in summary) == size
    assert sum(int(one[1]) for one in summary) == blocks
    tree = ET.fromstring(written("valgrind-xml", report))  # noqa: S314 (our own)
    assert sum(int(one.text or 0) for one in tree.iter("leakedbytes")) == size
    assert sum(int(one.text or 0) for one in tree.iter("leakedblocks")) == blocks
    results = json.loads(written("sarif", report))["runs"][0]["results"]
    assert sum(one["properties"]["bytes"] for one in results) == size
    lines = written("collapsed", report).splitlines()
    assert sum(int(line.rpartition(" ")[2]) for line in lines) == size
    profiles = json.loads(written("speedscope", report))["profiles"]
    sizes = [one["weights"] for one in profiles if one["unit"] == "bytes"]
    assert sum(map(sum, sizes)) == size
    page = html_page(report, Privacy(Path(FOLDER)))
    data = json.loads(page.partition('id="data">')[2].partition("</script>")[0])
    assert data["totals"] == document["totals"]
    heading = text.render(report, Style(Path(FOLDER))).partition("\n")[0]
    assert (f"in {lost_blocks:,} block" in heading) == (lost_size > 0)


@settings(max_examples=40)
@given(REPORTS)
def test_the_kinds_of_findings_are_the_same_everywhere(report: Report) -> None:
    kinds = Counter(one.kind.value for one in report.findings)
    lost = sum(one.kind in LEAKS for one in report.findings)
    listed = json.loads(written("json", report))["findings"]
    assert Counter(one["kind"] for one in listed) == kinds
    titles = [one.properties["title"] for one in read_github(written("github", report))]
    told = Counter(title.removeprefix("Leakline: ") for title in titles)
    assert {kind: told[kind] for kind in kinds} == kinds
    suite = ET.fromstring(written("junit", report))  # noqa: S314 (our own)
    assert len(list(suite.iter("failure"))) == lost
    results = json.loads(written("sarif", report))["runs"][0]["results"]
    assert sum(one["level"] != "note" for one in results) == lost


@settings(max_examples=40)
@given(REPORTS)
def test_a_json_report_that_is_read_back_is_the_report(report: Report) -> None:
    again = read_report(written("json", report).encode(), "report.json")
    assert [one.kind for one in again.findings] == [one.kind for one in report.findings]
    assert amounts(again.findings) == amounts(report.findings)
    assert written("json", again) == written("json", report)
