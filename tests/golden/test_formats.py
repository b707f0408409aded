"""Formats for other tools: as reviewed, and read back by readers that others wrote."""

import gzip
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from leakline.cli import formats
from leakline.model.finding import Finding, Kind
from leakline.model.report import Report
from leakline.model.stack import Stack

from .readers import (
    as_others_write,
    pprof,
    pprof_total,
    read_by_act,
    read_github,
    read_junit,
    read_speedscope,
    read_valgrind_xml,
)
from .samples import FOLDER, LOST, REPORTS, RUN

Golden = Callable[[str, str], None]

TEXTUAL = (
    "sarif",
    "memcheck",
    "valgrind-xml",
    "collapsed",
    "speedscope",
    "junit",
    "github",
)
LEAKS = (Kind.LOST, Kind.INDIRECT)
MARKUP = """</failure>]]>&lt;"'::error::%0A,x=1:;\r\n<script>"""


def leaked_bytes(report: Report) -> int:
    return sum(one.bytes for one in report.findings if one.kind in LEAKS)


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str, Report], Path]:
    """Return a function that writes a report in a format."""

    def write(name: str, report: Report) -> Path:
        path = tmp_path / name
        path.write_bytes(formats.render(name, report, Path(FOLDER)))
        return path

    return write


Written = Callable[[str, Report], Path]


@pytest.mark.parametrize("name", TEXTUAL)
@pytest.mark.parametrize(
    "sample", ["leaky", "evidence", "hostile", "unwatched", "compared"]
)
def test_format_is_as_reviewed(name: str, sample: str, golden: Golden) -> None:
    text = formats.render(name, REPORTS[sample], Path(FOLDER)).decode()
    golden(f"{sample}.{name}", text)


@pytest.mark.parametrize("sample", ["leaky", "evidence", "hostile"])
def test_pprof_shows_the_profile_as_reviewed(
    sample: str, golden: Golden, written: Written
) -> None:
    golden(f"{sample}.pprof.txt", pprof(written("pprof", REPORTS[sample]), "-raw"))


@pytest.mark.parametrize("name", formats.MODULES)
@pytest.mark.parametrize("sample", REPORTS)
def test_the_same_report_gives_the_same_bytes(name: str, sample: str) -> None:
    report = REPORTS[sample]
    again = replace(report, findings=tuple(map(replace, report.findings)))
    first = formats.render(name, report, Path(FOLDER))
    assert first == formats.render(name, again, Path(FOLDER))


@pytest.mark.parametrize("sample", REPORTS)
def test_texts_hold_nothing_that_steers_a_terminal(sample: str) -> None:
    for name in TEXTUAL:
        text = formats.render(name, REPORTS[sample], Path(FOLDER)).decode()
        assert text.replace("\n", "").isprintable()


@pytest.mark.parametrize("sample", ["leaky", "reachable", "evidence", "hostile"])
def test_counts_agree_between_formats(sample: str, written: Written) -> None:
    report = REPORTS[sample]
    shown = sum(one.bytes for one in report.findings)
    profile = written("pprof", report)
    assert pprof_total(profile, "leaked_space") == leaked_bytes(report)
    assert pprof_total(profile, "inuse_space") == shown
    lines = written("collapsed", report).read_text().splitlines()
    assert sum(int(line.rpartition(" ")[2]) for line in lines) == shown
    profiles = read_speedscope(written("speedscope", report))["profiles"]
    sizes = [one["weights"] for one in profiles if one["unit"] == "bytes"]
    assert sum(map(sum, sizes)) == shown
    errors = read_valgrind_xml(written("valgrind-xml", report)).errors
    assert len(errors) == len(report.findings)
    commands = read_github(written("github", report).read_text())
    titles = [command.properties["title"] for command in commands]
    for kind in Kind:
        of_kind = [one for one in report.findings if one.kind is kind]
        assert titles.count(f"Leakline: {kind.value}") == len(of_kind)


def test_valgrind_readers_find_the_allocation_and_the_loss(written: Written) -> None:
    (error,) = read_valgrind_xml(written("valgrind-xml", REPORTS["evidence"])).errors
    assert error.kind == "Leak_DefinitelyLost"
    assert error.stack[0].func == "make_item"
    assert error.stack[0].get_path(None) == f"{FOLDER}/src/list.c"
    title = "the last reference was lost here, overwritten (`cache`):"
    assert error.auxwhat == title
    assert (error.auxstack[0].func, error.auxstack[0].line) == ("refresh", 15)


def test_a_runner_of_workflows_reads_the_annotations_as_they_are_meant(
    act: Callable[..., list[Any]], tmp_path: Path
) -> None:
    path = tmp_path / "commands"
    reports = [*REPORTS.values(), hostile_report()]
    path.write_bytes(
        b"".join(formats.render("github", r, Path(FOLDER)) for r in reports)
    )
    meant = read_github(path.read_text())
    read = read_by_act(act, path)
    assert [one.level for one in read] == [one.level for one in meant]
    # act ends the properties at the last `::`, and GitHub's own runner at the first.
    plain = [number for number, one in enumerate(meant) if "::" not in one.message]
    assert len(plain) > len(REPORTS)
    assert [read[number] for number in plain] == [meant[number] for number in plain]


@pytest.mark.parametrize("sample", [*REPORTS, "markup"])
def test_annotations_are_written_as_others_write_them(
    sample: str, capsys: pytest.CaptureFixture[str]
) -> None:
    report = hostile_report() if sample == "markup" else REPORTS[sample]
    text = formats.render("github", report, Path(FOLDER)).decode()
    for command in read_github(text):
        as_others_write(command)
    theirs = capsys.readouterr().out
    assert list(map(_parts, text.splitlines())) == list(
        map(_parts, theirs.splitlines())
    )


def _parts(line: str) -> tuple[list[str], str]:
    """The command with its properties in order of their names, and the message."""
    _, head, message = line.split("::", 2)
    level, _, properties = head.partition(" ")
    return [level, *sorted(properties.split(","))], message


@pytest.mark.parametrize("kind", Kind)
def test_every_kind_has_a_place_in_every_format(kind: Kind, written: Written) -> None:
    report = Report(RUN, (replace(LOST, kind=kind), replace(LOST, allocation=Stack())))
    assert len(read_valgrind_xml(written("valgrind-xml", report)).errors) == 2
    assert read_junit(written("junit", report)).tests == 3
    assert read_speedscope(written("speedscope", report))["profiles"]
    assert len(read_github(written("github", report).read_text())) == 3
    assert len(written("collapsed", report).read_text().splitlines()) == 2


@pytest.mark.parametrize("kind", Kind)
def test_profiles_hold_what_has_an_amount(kind: Kind, written: Written) -> None:
    report = Report(RUN, (replace(LOST, kind=kind), replace(LOST, allocation=Stack())))
    shown = pprof(written("pprof", report), "-raw")
    is_memory = kind in {*LEAKS, Kind.REACHABLE, Kind.STALE, Kind.NEVER_USED}
    assert shown.count("finding:[a1]") == 1 + is_memory
    assert "??" in shown


def test_junit_readers_see_leaks_as_failures(written: Written) -> None:
    suite = read_junit(written("junit", REPORTS["leaky"]))
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (5, 3, 0, 1)
    active, first = list(suite)[:2]
    assert active.is_passed
    assert first.name == "lost block of make_item [a1]"
    assert first.result[0].message.startswith("lost: 1,920 bytes in 10 blocks")


def test_junit_fails_for_what_is_not_shown_or_not_checked(written: Written) -> None:
    hidden = read_junit(written("junit", REPORTS["reachable"]))
    assert [case.name for case in hidden if not case.is_passed] == [
        "leaks that are not shown"
    ]
    assert read_junit(written("junit", REPORTS["unwatched"])).errors == 1
    assert read_junit(written("junit", REPORTS["clean"])).failures == 0


def test_speedscope_samples_run_from_main_to_the_allocation(written: Written) -> None:
    document = read_speedscope(written("speedscope", REPORTS["leaky"]))
    frames = document["shared"]["frames"]
    sample = document["profiles"][0]["samples"][0]
    names = [frames[index]["name"] for index in sample]
    assert names == ["main", "append", "make_item"]


def test_pprof_keeps_inlined_calls_and_weighs_them(written: Written) -> None:
    shown = pprof(written("pprof", REPORTS["leaky"]), "-top", "-unit=B")
    assert "Type: leaked_space" in shown
    assert "17560B 99.64%  append (inline)" in shown


def test_annotations_point_to_the_loss(written: Written) -> None:
    (finding, not_seen) = read_github(
        written("github", REPORTS["evidence"]).read_text()
    )
    assert finding.level == "warning"
    assert finding.properties["file"] == "src/cache.c"
    assert finding.properties["line"] == "15"
    assert not_seen.properties["title"] == "Leakline: not seen"


def hostile_report() -> Report:
    frame = replace(
        LOST.allocation.frames[0], function=MARKUP, file=MARKUP, module=MARKUP
    )
    finding: Finding = replace(
        LOST, id=MARKUP, allocation=Stack((frame,), stopped=MARKUP), notes=(MARKUP,)
    )
    run = replace(RUN, command=(MARKUP,), not_seen=(MARKUP,))
    return Report(run, (finding,), suppressed=((MARKUP, finding),))


def test_markup_in_names_stays_text(written: Written) -> None:
    report = hostile_report()
    shown = MARKUP.replace("\r", "\\x0d").replace("\n", "\\x0a")
    (error,) = read_valgrind_xml(written("valgrind-xml", report)).errors
    assert error.stack[0].func == shown
    suite = read_junit(written("junit", report))
    assert (suite.tests, suite.failures, suite.skipped) == (3, 1, 1)
    assert f"lost block of {shown} [{shown}]" in [case.name for case in suite]
    frames = read_speedscope(written("speedscope", report))["shared"]["frames"]
    assert frames[0]["name"] == shown
    finding, not_seen = read_github(written("github", report).read_text())
    assert finding.properties["file"] == shown
    assert not_seen.message == shown
    (line,) = written("collapsed", report).read_text().splitlines()
    assert line.count(";") == 1
    assert shown in pprof(written("pprof", report), "-raw")


def test_a_profile_carries_no_time_of_its_making(written: Written) -> None:
    header = written("pprof", REPORTS["leaky"]).read_bytes()[:8]
    assert header[4:8] == b"\0\0\0\0"
    assert gzip.decompress(formats.render("pprof", REPORTS["clean"], Path("/")))
