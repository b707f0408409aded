"""Lens `pages` on whole programs: what is idle is found, what is used is not."""

import json
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .command import Build, leakline
from .conftest import Outcome

Watch = Callable[..., Outcome]


def finding_of(report: dict[str, Any], function: str) -> dict[str, Any]:
    """Return the finding whose allocation stack has a function."""
    found: list[dict[str, Any]] = [
        finding
        for finding in report["findings"]
        if function in {one["function"] for one in finding["allocation"]["frames"]}
    ]
    assert len(found) == 1
    return found[0]


@pytest.fixture(scope="module")
def recording(build: Build, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run the corpus program once; the tests read its recording."""
    path = tmp_path_factory.mktemp("pages") / "recording"
    program = build("pages_staleness.c", "-O1")
    done = leakline("run", "--lens", "pages", "-o", path, "--", program, "1.5")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "done 1\n"
    return path


def report_of(recording: Path, *options: str) -> dict[str, Any]:
    done = leakline("report", *options, "--format", "json", recording)
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def test_idle_blocks_are_found_and_used_ones_are_not(recording: Path) -> None:
    report = report_of(recording, "--stale-after", "0.4")
    kinds = {
        frame["function"]: finding["kind"]
        for finding in report["findings"]
        for frame in finding["allocation"]["frames"]
    }
    assert kinds["list_stale"] == "stale"
    assert kinds["array_stale"] == "stale"
    assert kinds["array_never_used"] == "never-used"
    assert not {name for name in kinds if name.endswith("_in_use")}


def test_nearly_all_idle_blocks_are_counted(recording: Path) -> None:
    found = finding_of(report_of(recording, "--stale-after", "0.4"), "list_stale")
    assert 0.9 * 20000 < found["blocks"] <= 20000
    assert found["bytes"] == 48 * found["blocks"]


def test_no_bound_is_longer_than_the_run(recording: Path) -> None:
    report = report_of(recording, "--stale-after", "0.1")
    for finding in report["findings"]:
        assert (
            0.1
            <= finding["staleness"]["lower_s"]
            <= finding["stale_curve"][-1]["stale_s"]
        )
        assert finding["stale_curve"][-1]["stale_s"] < 2.5
        assert finding["engines"] == ["pages"]


def test_other_clocks_are_told_beside_processor_time(recording: Path) -> None:
    found = finding_of(report_of(recording, "--stale-after", "0.4"), "list_stale")
    assert any("passed by the wall clock" in note for note in found["notes"])


def test_the_guarantee_that_holds_is_said(recording: Path) -> None:
    (remark,) = report_of(recording)["run"]["remarks"]
    assert "no block was idle for less than is said" in remark


def test_findings_are_ranked_by_drag(recording: Path) -> None:
    report = report_of(recording, "--stale-after", "0.1", "--show", "stale")
    drags = [finding["drag_byte_s"] for finding in report["findings"]]
    assert drags == sorted(drags, reverse=True)
    first = report["findings"][0]["allocation"]["frames"]
    assert "array_stale" in {frame["function"] for frame in first}


def test_stale_memory_does_not_fail_the_run(build: Build, watch: Watch) -> None:
    outcome = watch([build("pages_staleness.c", "-O1"), "0.5"], "--lens", "pages")
    assert outcome.returncode == 0
    lenses = outcome.report["run"]["lenses"]
    assert lenses["pages"] == "active"
    assert lenses["reach"] == "off"


def test_both_lenses_look_at_one_run(build: Build, watch: Watch) -> None:
    program = build("pages_staleness.c", "-O1")
    outcome = watch([program, "0.6"], "--lens", "reach,pages", "--stale-after", "0.1")
    assert outcome.returncode == 0
    assert "list_stale" in outcome.functions("stale")
    assert outcome.report["run"]["lenses"]["reach"] == "active"


@pytest.fixture(scope="module")
def raw_recording(build: Build, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run the corpus program once and record every block."""
    path = tmp_path_factory.mktemp("raw") / "recording"
    program = build("pages_staleness.c", "-O1")
    words = ("run", "--lens", "pages", "--raw-blocks", "-o", path, "--", program, "0.4")
    assert leakline(*words).returncode == 0
    return path


def test_every_block_and_page_is_there_as_json_lines(raw_recording: Path) -> None:
    done = leakline("blocks", raw_recording)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    sites = {
        row["site"]: {frame["function"] for frame in row["frames"]}
        for row in rows
        if "frames" in row
    }
    stale = [
        row for row in rows if "block" in row and "list_stale" in sites[row["site"]]
    ]
    assert len(stale) == 20000  # as many as the program makes
    assert {row["size_bytes"] for row in stale} == {48}
    pages = [row for row in rows if "page" in row]
    starts = sum(row["blocks"] for row in pages)
    assert starts == sum("block" in row for row in rows)


def test_xml_holds_the_same(raw_recording: Path, tmp_path: Path) -> None:
    target = tmp_path / "heap.xml"
    done = leakline("blocks", raw_recording, "--format", "xml", "--output", target)
    assert done.returncode == 0, done.stderr
    heap = ET.parse(target).getroot()  # noqa: S314 - our own file
    blocks = heap.findall("block")
    lines = leakline("blocks", raw_recording).stdout.splitlines()
    assert len(blocks) == sum('{"block"' in line for line in lines)
    assert {block.get("site") for block in blocks} <= {
        site.get("number") for site in heap.findall("site")
    }


def test_a_recording_without_blocks_is_refused(recording: Path) -> None:
    done = leakline("blocks", recording)
    assert done.returncode != 0
    assert "has no records of single blocks" in done.stderr


def test_stacks_stay_when_others_are_given_up(build: Build, watch: Watch) -> None:
    program = build("pages_many_stacks.c", "-O1")
    outcome = watch([program], "--lens", "pages", "--stale-after", "0.05")
    found = finding_of(outcome.report, "list_stale")
    functions = [frame["function"] for frame in found["allocation"]["frames"]]
    assert functions[:2] == ["list_stale", "main"]
    assert found["blocks"] > 1000  # of the 1,500 that are made at three times
