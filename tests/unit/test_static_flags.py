"""Compiler command lines, sorted for a replay by clang."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakline.static.capture.flags import parse_compiler
from leakline.static.capture.response import expand
from leakline.static.capture.tools import Invocation, interpret


def flags(text: str) -> list[str]:
    return parse_compiler(text.split()).flags


def test_what_changes_the_meaning_of_a_source_is_kept() -> None:
    line = "-DA=1 -D B -UC -Iinc -I inc2 -isystem sys -std=gnu11 -m32 -include x.h"
    assert flags(f"{line} -c a.c") == line.split()


@pytest.mark.parametrize(
    "flag",
    [
        "-O2",
        "-g3",
        "-Wall",
        "-Werror",
        "-fno-tree-vectorize",
        "-flto",
        "-fanalyzer",
        "-fplugin=x.so",
        "-pipe",
        "-MMD",
        "-mindirect-branch=thunk",
        "-fconserve-stack",
        "--coverage",
        "-fstack-protector-strong",
    ],
)
def test_options_of_one_compiler_are_dropped(flag: str) -> None:
    assert flags(f"{flag} -c a.c") == []


def test_values_of_dropped_options_are_not_taken_for_inputs() -> None:
    parsed = parse_compiler(
        ["-MF", "a.d", "-MT", "a.o", "--param", "x=1", "-c", "a.c", "-o", "a.o"]
    )
    assert parsed.sources == ["a.c"]
    assert parsed.objects == []
    assert parsed.output == "a.o"


def test_definitions_inside_preprocessor_options_are_kept() -> None:
    assert flags("-Wp,-D_FORTIFY_SOURCE=2,-MD,x.d -c a.c") == ["-D_FORTIFY_SOURCE=2"]


@pytest.mark.parametrize("flag", ["-E", "-M", "-MM", "-fsyntax-only", "-dumpversion"])
def test_questions_to_the_compiler_are_no_builds(flag: str) -> None:
    assert parse_compiler([flag, "a.c"]).query


def test_objects_libraries_and_shared_links_are_told_apart() -> None:
    parsed = parse_compiler(
        ["-shared", "a.o", "libx.a", "-lm", "-Llib", "-o", "libz.so"]
    )
    assert parsed.objects == ["a.o", "libx.a"]
    assert parsed.libraries == ["m"]
    assert parsed.shared


@pytest.mark.parametrize("flag", ["-rdynamic", "-Wl,-E", "-Wl,--export-dynamic"])
def test_programs_that_plugins_may_call_are_known(flag: str) -> None:
    assert parse_compiler([flag, "a.o", "-o", "prog"]).exports


def test_response_files_are_replaced_with_their_arguments() -> None:
    files = {"x": '-DNAME="a b"\n@y', "y": "-c 'odd name.c'"}
    assert expand(["@x", "-o", "a.o"], files.get) == [
        "-DNAME=a b",
        "-c",
        "odd name.c",
        "-o",
        "a.o",
    ]


def test_a_response_file_that_names_itself_ends() -> None:
    assert "@x" in expand(["@x"], {"x": "-c @x"}.get)


def test_a_quote_without_end_is_no_failure() -> None:
    assert expand(["@x"], {"x": "-c 'a.c"}.get) == ["-c", "'a.c"]


@given(
    st.lists(
        st.sampled_from(
            [
                "-o",
                "-c",
                "-I",
                "-l",
                "-Wp,",
                "-Xpreprocessor",
                "-x",
                "-",
                "",
                "--sysroot",
            ]
        )
        | st.text(max_size=6)
    )
)
def test_any_words_can_be_sorted(words: list[str]) -> None:
    for tool in ("gcc", "ar", "ld", "ccache"):
        interpret(Invocation(Path("/"), (tool, *words)))


def test_a_missing_response_file_stays_an_argument() -> None:
    assert expand(["@gone"], lambda _: None) == ["@gone"]
