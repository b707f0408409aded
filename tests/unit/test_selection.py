"""Which findings are shown, in what order, and how a report adapts to its stream."""

import io
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakline.errors import UsageError
from leakline.model.finding import Confidence, Engine, Finding, Kind
from leakline.model.report import LensState, Report, Run
from leakline.model.stack import Frame, Stack
from leakline.reports.places import is_own_code, relative_path
from leakline.reports.printable import printable
from leakline.reports.quantities import bytes_in_words, plural, rounded
from leakline.reports.style import Style, style_for
from leakline.reports.text import render
from leakline.triage.selection import SHOWABLE, has_leaks, parse_kinds, select

FINDINGS = st.builds(
    Finding,
    id=st.text("abc", min_size=1),
    engines=st.just((Engine.REACH,)),
    kind=st.sampled_from([Kind.LOST, Kind.INDIRECT, Kind.REACHABLE]),
    confidence=st.just(Confidence.EXACT),
    blocks=st.integers(0, 9),
    bytes=st.integers(0, 9),
    indirect_bytes=st.integers(0, 9),
    allocation=st.just(Stack((Frame("f", "f.c", 1, "prog"),))),
)
LISTS = st.lists(FINDINGS, max_size=8)
LEAKS = frozenset([Kind.LOST, Kind.INDIRECT])


def report(findings: list[Finding]) -> Report:
    return Report(Run((), 0, (("reach", LensState.ACTIVE),)), tuple(findings))


@given(LISTS, st.none() | st.integers(0, 9))
def test_selection_loses_nothing(findings: list[Finding], top: int | None) -> None:
    chosen = select(report(findings), LEAKS, top)
    assert sorted(map(repr, chosen.findings + chosen.hidden)) == sorted(
        map(repr, findings)
    )
    assert all(finding.kind in LEAKS for finding in chosen.findings)
    assert top is None or len(chosen.findings) <= top


@given(LISTS, st.randoms())
def test_the_order_does_not_depend_on_the_order_before(
    findings: list[Finding], random: Random
) -> None:
    shuffled = list(findings)
    random.shuffle(shuffled)
    everything = frozenset(Kind)
    first = select(report(findings), everything, None)
    second = select(report(shuffled), everything, None)
    style = Style(Path("/"))
    assert render(first, style) == render(second, style)


@given(LISTS)
def test_larger_losses_come_first(findings: list[Finding]) -> None:
    chosen = select(report(findings), frozenset([Kind.LOST]), None).findings
    sizes = [finding.bytes + finding.indirect_bytes for finding in chosen]
    assert sizes == sorted(sizes, reverse=True)


@given(LISTS)
def test_only_reachable_blocks_are_no_leaks(findings: list[Finding]) -> None:
    expected = any(finding.kind is not Kind.REACHABLE for finding in findings)
    assert has_leaks(select(report(findings), frozenset(), 0)) is expected


def test_kinds_are_named_by_words() -> None:
    assert parse_kinds("lost, reachable") == {Kind.LOST, Kind.REACHABLE}
    assert parse_kinds("stale,never-used") == {Kind.STALE, Kind.NEVER_USED}
    assert parse_kinds("all") == set(SHOWABLE.values())
    with pytest.raises(UsageError, match="there is no kind 'leaked' to show"):
        parse_kinds("lost,leaked")


@given(st.text())
def test_printable_text_is_printable_and_plain_text_unchanged(text: str) -> None:
    assert printable(text).isprintable()
    if text.isprintable():
        assert printable(text) == text


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("terminal", "environment", "colour"),
    [
        (True, {}, True),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"NO_COLOR": ""}, True),
        (True, {"TERM": "dumb"}, False),
        (False, {}, False),
        (False, {"FORCE_COLOR": "1"}, True),
        (True, {"FORCE_COLOR": "0"}, False),
        (False, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_colours_follow_the_stream_and_the_environment(
    *, terminal: bool, environment: dict[str, str], colour: bool
) -> None:
    stream = Terminal() if terminal else io.StringIO()
    assert style_for(stream, environment, Path("/")).colour is colour


def test_the_width_is_that_of_the_terminal() -> None:
    wide = {"COLUMNS": "123"}
    assert style_for(Terminal(), wide, Path("/")).width == 123
    assert style_for(io.StringIO(), wide, Path("/")).width is None
    assert style_for(None, wide, Path("/")).width is None


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (10_239, "10,239 bytes"),
        (10_240, "10,240 bytes (10.0 KiB)"),
        (1 << 40, "1,099,511,627,776 bytes (1.0 TiB)"),
    ],
)
def test_bytes_are_exact_and_readable(number: int, words: str) -> None:
    assert bytes_in_words(number) == words


@given(st.integers(0, 2**70))
def test_rounded_numbers_are_short(number: int) -> None:
    assert len(rounded(number)) <= len("1024.0 KiB")


def test_nouns_follow_their_number() -> None:
    assert plural(1, "process") == "1 process"
    assert plural(1200, "process") == "1,200 processes"


@pytest.mark.parametrize(
    ("frame", "own"),
    [
        (Frame("f", "src/a.c", 1, "/home/u/prog"), True),
        (Frame("f", "/usr/include/c++/12/vector", 1, "/home/u/prog"), False),
        (Frame("strdup", "string/strdup.c", 1, "/lib/x86_64/libc.so.6"), False),
        (Frame("f", "", 0, "/usr/local/bin/prog"), True),
        (Frame("f", "", 0, "/usr/bin/prog"), False),
        (Frame("f", "/src/a.c", 3), True),
        (Frame("f"), False),
    ],
)
def test_own_code_is_what_was_not_installed(frame: Frame, *, own: bool) -> None:
    assert is_own_code(frame) is own


def test_only_paths_below_the_folder_become_relative() -> None:
    assert relative_path("/a/b/c.c", Path("/a")) == "b/c.c"
    assert relative_path("/ab/c.c", Path("/a")) == "/ab/c.c"
    assert relative_path("c.c", Path("/a")) == "c.c"
    assert relative_path("/c.c", Path("/")) == "c.c"
