"""Suppression files of both formats: what they mean and how mistakes are told."""

import contextlib
import fnmatch
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakline.errors import SuppressionError
from leakline.model.finding import Confidence, Engine, Finding, Kind
from leakline.model.report import LensState, Report, Run
from leakline.model.stack import Frame, Stack
from leakline.reports import suppressions as generator
from leakline.triage.patterns import lsan_pattern, valgrind_pattern
from leakline.triage.suppression_files import parse_suppressions, read_suppressions
from leakline.triage.suppressions import apply_suppressions, without_parameters

STACK = Stack(
    (
        Frame("g_malloc", module="/usr/lib/libglib-2.0.so.0"),
        Frame("parse(char const*)", "/src/app/parse.cpp", 41, symbol="_Z5parsePKc"),
        Frame("inner::run() const", "/src/app/run.cpp", 7, symbol="_ZNK5inner3runEv"),
        Frame("main", "/src/app/main.cpp", 12, "/src/app/prog"),
    )
)


def finding(
    stack: Stack = STACK, kind: Kind = Kind.LOST, leader: Stack | None = None
) -> Finding:
    return Finding(
        id="x",
        engines=(Engine.REACH,),
        kind=kind,
        confidence=Confidence.EXACT,
        blocks=1,
        bytes=8,
        allocation=stack,
        leader=leader,
    )


def report(*findings: Finding) -> Report:
    return Report(Run(("prog",), 0, (("reach", LensState.ACTIVE),)), findings)


def entry(*lines: str, kinds: str = "") -> str:
    kind_line = f"   match-leak-kinds: {kinds}\n" if kinds else ""
    body = "".join(f"   {line}\n" for line in lines)
    return f"{{\n   name\n   Memcheck:Leak\n{kind_line}{body}}}\n"


def hides(text: str, subject: Finding) -> bool:
    shown = apply_suppressions(report(subject), parse_suppressions(text, "s"))
    return not shown.findings


@pytest.mark.parametrize(
    "lines",
    [
        ("fun:g_malloc",),
        ("fun:malloc", "fun:g_malloc"),
        ("fun:*alloc", "fun:parse*"),
        ("obj:*vgpreload_memcheck*", "fun:g_malloc"),
        ("obj:/usr/lib/libglib-2.0.so.?", "fun:_Z5parsePKc"),
        ("obj:*glib*", "fun:parse"),
        ("...", "fun:main"),
        ("fun:g_malloc", "...", "fun:inner::run", "fun:main"),
        ("fun:malloc", "...", "src:parse.cpp:41"),
        ("...", "src:/src/app/run.cpp"),
        ("...",),
    ],
)
def test_valgrind_entries_match_from_the_allocation_outwards(
    lines: tuple[str, ...],
) -> None:
    assert hides(entry(*lines), finding())


@pytest.mark.parametrize(
    "lines",
    [
        ("fun:parse",),
        ("fun:malloc", "fun:parse"),
        ("fun:g_malloc", "fun:main"),
        ("fun:g_malloc", "src:parse.cpp:42"),
        ("...", "fun:main", "fun:_start"),
        ("obj:libglib",),
        ("fun:G_MALLOC",),
        ("...", "fun:main", "...", "fun:g_malloc"),
    ],
)
def test_valgrind_entries_leave_other_stacks_alone(lines: tuple[str, ...]) -> None:
    assert not hides(entry(*lines), finding())


@pytest.mark.parametrize(
    ("kinds", "hidden"),
    [
        ("definite", {Kind.LOST}),
        ("indirect,reachable", {Kind.INDIRECT, Kind.REACHABLE}),
        ("possible", set()),
        ("none", set()),
        ("all", {Kind.LOST, Kind.INDIRECT, Kind.REACHABLE}),
        ("", {Kind.LOST, Kind.INDIRECT, Kind.REACHABLE}),
    ],
)
def test_match_leak_kinds_limits_an_entry(kinds: str, hidden: set[Kind]) -> None:
    text = entry("...", kinds=kinds)
    for kind in (Kind.LOST, Kind.INDIRECT, Kind.REACHABLE):
        assert hides(text, finding(kind=kind)) is (kind in hidden)


def test_entries_of_other_errors_and_comments_are_passed_over() -> None:
    text = (
        "# comment\n\n{\n  syscall\n  Memcheck:Param\n  write(buf)\n  fun:write\n}\n"
        "{\n  race\n  Helgrind:Race\n  fun:x\n}\n  # another\nleak:parse\n"
    )
    (only,) = parse_suppressions(text, "s")
    assert only.name == "leak:parse"


@pytest.mark.parametrize(
    "pattern",
    [
        "parse",
        "^main$",
        "libglib-2.0.so",
        "run.cpp",
        "inner::*() const$",
        "^/src/*/prog",
        "_ZNK5inner",
        "*",
    ],
)
def test_lsan_patterns_are_looked_for_everywhere(pattern: str) -> None:
    assert hides(f"leak:{pattern}\n", finding())


@pytest.mark.parametrize("pattern", ["^parse$x", "^ain", "mai$", "par?e", "nothing"])
def test_lsan_patterns_leave_other_stacks_alone(pattern: str) -> None:
    assert not hides(f"leak:{pattern}\n", finding())


def test_blocks_that_hang_on_suppressed_ones_are_suppressed_with_them() -> None:
    child = finding(Stack((Frame("strdup"),)), Kind.INDIRECT, leader=STACK)
    assert hides("leak:^main$\n", child)
    assert hides(entry("...", "fun:main", kinds="definite"), child)


def test_unused_suppressions_are_listed_with_their_place() -> None:
    own = parse_suppressions(
        "leak:absent\nleak:main\n" + entry("fun:absent"), "my.supp"
    )
    brought_along = parse_suppressions("leak:also_absent", "")
    shown = apply_suppressions(report(finding()), own + brought_along)
    assert shown.unused_suppressions == ("leak:absent (my.supp:1)", "name (my.supp:3)")
    assert [name for name, _ in shown.suppressed] == ["leak:main"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("main\n", "s:1: expected leak:PATTERN"),
        ("leak:x\nleak:\n", "s:2: expected leak:PATTERN"),
        ("leak:x\nrace:y\n", "s:2: expected leak:PATTERN"),
        ("}\n", "s:1: expected leak:PATTERN"),
        ("{\n  n\n  Memcheck:Leak\n  fun:x\n", "s:1: the { opened here"),
        ("{\n  n\n}\n", "s:1: a Valgrind suppression needs"),
        ("{\n}\n", "s:1: a Valgrind suppression needs"),
        ("{\n  n\n  Leak\n  fun:x\n}\n", "s:3: a Valgrind suppression needs"),
        (entry("malloc"), "s:4: expected fun:NAME"),
        (entry("fun:"), "s:4: expected fun:NAME"),
        (entry("fun:x", kinds="lost"), "s:4: there is no leak kind 'lost'"),
        (entry(), "s:1: the suppression 'name' names no frame"),
    ],
)
def test_mistakes_are_told_with_file_and_line(text: str, complaint: str) -> None:
    with pytest.raises(SuppressionError) as raised:
        parse_suppressions(text, "s")
    assert str(raised.value).startswith(complaint)


def test_a_file_that_cannot_be_read_is_a_suppression_error(tmp_path: Path) -> None:
    with pytest.raises(SuppressionError, match="cannot be read: No such file"):
        read_suppressions(tmp_path / "missing")
    with pytest.raises(SuppressionError, match="cannot be read"):
        read_suppressions(tmp_path)


@pytest.mark.parametrize(
    ("function", "name"),
    [
        ("f(int)", "f"),
        ("a::b<void (*)(int)>::c(int (*)(char)) const", "a::b<void (*)(int)>::c"),
        ("operator()(int)", "operator()"),
        ("main", "main"),
        ("odd)", "odd)"),
    ],
)
def test_parameters_are_taken_off_a_name(function: str, name: str) -> None:
    assert without_parameters(function) == name


NAMES = st.text(st.sampled_from("ab*?()[]^$.:~ \n\\"), max_size=12)


@given(pattern=NAMES, name=NAMES)
def test_valgrind_wildcards_agree_with_the_shells(pattern: str, name: str) -> None:
    shell = pattern.replace("[", "[[]")
    assert valgrind_pattern(pattern)(name) == fnmatch.fnmatchcase(name, shell)


@given(pattern=NAMES, name=NAMES)
def test_lsan_wildcards_agree_with_the_shells(pattern: str, name: str) -> None:
    body = pattern.removeprefix("^").removesuffix("$")
    start = "" if pattern.startswith("^") else "*"
    end = "" if pattern.endswith("$") else "*"
    escaped = body.replace("[", "[[]").replace("?", "[?]")
    expected = fnmatch.fnmatchcase(name, f"{start}{escaped}{end}")
    assert lsan_pattern(pattern)(name) == expected


LINES = st.sampled_from(
    ["{", "}", "name", "Memcheck:Leak", "...", "fun:f", "leak:x", "obj:", "# c", ""]
)


@given(st.one_of(st.text(), st.lists(LINES).map("\n".join)))
def test_any_text_is_parsed_or_refused_in_a_sentence(text: str) -> None:
    with contextlib.suppress(SuppressionError):
        parse_suppressions(text, "s")


WORDS = st.text(st.characters(codec="ascii", min_codepoint=33), min_size=1, max_size=8)
FRAMES = st.builds(
    Frame,
    function=st.one_of(st.just(""), WORDS),
    module=WORDS.map("/opt/{}".format),
    symbol=st.one_of(st.just(""), WORDS),
)
STACKS = st.builds(Stack, st.lists(FRAMES, min_size=1, max_size=30).map(tuple))
FOUND = st.builds(
    finding, STACKS, st.sampled_from([Kind.LOST, Kind.INDIRECT, Kind.REACHABLE])
)


@given(FOUND)
def test_generated_valgrind_suppressions_hide_what_they_were_made_from(
    subject: Finding,
) -> None:
    assert hides(generator.valgrind([subject]), subject)


@given(FOUND)
def test_generated_lsan_suppressions_hide_what_they_were_made_from(
    subject: Finding,
) -> None:
    assert hides(generator.lsan([subject]), subject)


def test_many_wildcards_do_not_make_matching_slow() -> None:
    text = entry(*["..."] * 20, "fun:" + "*a" * 30 + "b")
    deep = Stack(tuple(Frame("a" * 200) for _ in range(64)))
    assert not hides(text, finding(deep))
