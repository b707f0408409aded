"""Options of Memcheck that change its log: -q and --gen-suppressions."""

import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from leakline.cli import formats
from leakline.reports import suppressions
from leakline.triage.suppression_files import read_suppressions

from .samples import FOLDER, REPORTS

Golden = Callable[[str, str], None]


def log(sample: str, **choices: bool) -> str:
    return formats.render("memcheck", REPORTS[sample], Path(FOLDER), **choices).decode()


@pytest.mark.parametrize("sample", ["leaky", "evidence", "hostile"])
def test_a_quiet_log_holds_the_errors_of_the_whole_one(sample: str) -> None:
    quiet, whole = log(sample, quiet=True), log(sample)
    assert quiet in whole
    errors = re.compile(r"in loss record \d+ of")
    assert len(errors.findall(quiet)) == len(errors.findall(whole)) > 0
    assert "SUMMARY" not in quiet


def test_a_quiet_log_without_errors_is_empty() -> None:
    assert log("clean", quiet=True) == ""
    assert log("unwatched", quiet=True).endswith("== Nothing was checked.\n")


def test_each_error_is_followed_by_its_suppression(
    golden: Golden, tmp_path: Path
) -> None:
    text = log("leaky", quiet=True, suppressions=True)
    golden("leaky-quiet.memcheck", text)
    entries = "".join(
        f"{line}\n" for line in text.splitlines() if not line.startswith("==")
    )
    assert entries == suppressions.valgrind(REPORTS["leaky"].findings)
    (tmp_path / "known.supp").write_text(entries)
    assert len(read_suppressions(tmp_path / "known.supp")) == text.count("{")


@pytest.mark.parametrize("sample", ["leaky", "hostile"])
def test_xml_carries_the_same_suppressions(sample: str) -> None:
    report = REPORTS[sample]
    written = formats.render(
        "valgrind-xml", report, Path(FOLDER), suppressions=True
    ).decode()
    found = ET.fromstring(written).iter("suppression")  # noqa: S314 (our own)
    raw = [f"{one.findtext('rawtext')}\n" for one in found]
    assert "".join(raw) == suppressions.valgrind(report.findings)
    plain = formats.render("valgrind-xml", report, Path(FOLDER)).decode()
    assert (
        re.sub(r"  <suppression>.*?</suppression>\n", "", written, flags=re.DOTALL)
        == plain
    )
