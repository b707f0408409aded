"""What `leakline cc` makes of a compiler's command line."""

from pathlib import Path

import pytest

from leakline.compile.command_line import CommandLine
from leakline.compile.compiler import OVERRIDE, Compiler, find_compiler
from leakline.compile.driver import additions_for, environment_of_clang
from leakline.compile.response import expand, expand_those_with
from leakline.errors import CompileError

COMPILER = Compiler("/usr/bin/clang", 19, "/plugin.so")


def added(*words: str, compiler: Compiler = COMPILER) -> tuple[str, ...]:
    return additions_for(CommandLine(words), compiler).flags


def said(*words: str, compiler: Compiler = COMPILER) -> str:
    return " ".join(additions_for(CommandLine(words), compiler).notices)


@pytest.mark.parametrize(
    "words",
    [
        ("-c", "a.c"),
        ("-O2", "a.cpp", "b.o", "-o", "a"),
        ("-x", "c", "-", "-o", "a"),
        ("-xc++", "-c", "input"),
        ("-S", "a.i"),
        ("-###", "-c", "a.c"),
        ("-v", "-c", "a.c"),
        ("-fsanitize=undefined", "-c", "a.c"),
        ("-fsanitize=address", "-fno-sanitize=all", "-c", "a.c"),
        ("-fsanitize=leak", "-fno-sanitize=leak", "-c", "a.c"),
        ("-c", "a.c", "-mllvm", "-print-changed"),
        ("-c", "a.c", "-MT", "-E", "-MF", "-M"),
        ("-x", "assembler", "a", "-x", "c", "b", "-x", "none", "c.o"),
        ("-x", "assembler", "a", "-xnone", "b.c"),
        ("-c", "--", "-a.c"),
    ],
)
def test_sources_are_instrumented(words: tuple[str, ...]) -> None:
    assert "-fpass-plugin=/plugin.so" in added(*words)


@pytest.mark.parametrize(
    "words",
    [
        ("a.o", "b.o", "-o", "a"),
        ("-E", "a.c"),
        ("-M", "a.c"),
        ("-fsyntax-only", "a.c"),
        ("-c", "a.S"),
        ("-x", "assembler", "-c", "a.c"),
        ("--version",),
        ("-print-search-dirs",),
        ("-v",),
        ("-o", "a.c"),
        ("-x", "c", "-o", "a", "-x", "none", "a.o"),
        (),
    ],
)
def test_other_calls_are_left_alone(words: tuple[str, ...]) -> None:
    assert added(*words) == ()
    assert not said(*words)


def test_scopes_are_marked_without_optimisation_too() -> None:
    marking = "-fsanitize-address-use-after-scope"
    assert marking in added("-c", "a.c")
    assert marking in added("-O2", "-O0", "-c", "a.c")
    assert marking not in added("-O1", "-c", "a.c")


@pytest.mark.parametrize(
    ("words", "is_kept"),
    [
        (("-O2",), False),
        (("-O2", "-g"), True),
        (("-g", "-Os", "-gz=zlib", "-gno-column-info"), True),
        (("-O3", "-ggdb3"), True),
        (("-O2", "-g", "-g0"), False),
        (("-O2", "-gline-tables-only"), False),
        ((), True),
    ],
)
def test_optimised_code_is_followed_for_debuggers_that_are_asked_for(
    words: tuple[str, ...], is_kept: bool
) -> None:
    assert ("-leakline-without-locals" not in added(*words, "-c", "a.c")) == is_kept


def test_optimisation_at_link_time_is_turned_off_with_a_notice() -> None:
    assert "-fno-lto" in added("-flto=thin", "-c", "a.c")
    assert "turned off" in said("-flto", "-c", "a.c")
    assert "-fno-lto" not in added("-flto", "-fno-lto", "-c", "a.c")


def test_what_needs_optimisation_at_link_time_is_turned_off_with_it() -> None:
    words = ("-flto", "-fwhole-program-vtables", "-c", "a.cpp")
    assert "-fno-whole-program-vtables" in added(*words)
    assert "-fno-virtual-function-elimination" not in added(*words)
    assert "-fno-whole-program-vtables" not in added("-flto", "-c", "a.cpp")


def test_the_assembler_gets_no_options_of_ours() -> None:
    flags = added("-O2", "a.c", "b.s", "-o", "a")
    at = flags.index("-mllvm")
    assert flags[at - 1 : at + 3] == (
        "-Xclang",
        "-mllvm",
        "-Xclang",
        "-leakline-without-locals",
    )


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--target=aarch64-linux-gnu", "-c", "a.c"), "aarch64-linux-gnu"),
        (("-target", "x86_64-apple-darwin", "-c", "a.c"), "darwin"),
        (("-m32", "-c", "a.c"), "-m32"),
        (("-ffreestanding", "-c", "a.c"), "kernel"),
        (("-mcmodel=kernel", "-c", "a.c"), "kernel"),
        (("-D", "__KERNEL__", "-c", "a.c"), "kernel"),
        (("-flto", "-fsanitize=cfi-icall", "-c", "a.c"), "-fsanitize=cfi-icall"),
        (("-fsanitize=undefined,address", "-c", "a.c"), "address sanitizer"),
        (("-fsanitize=address,thread", "-fno-sanitize=address", "-c", "a.c"), "thread"),
    ],
)
def test_what_cannot_be_watched_is_compiled_plainly(
    words: tuple[str, ...], reason: str
) -> None:
    assert added(*words) == ()
    assert "a.c: compiled plainly" in said(*words)
    assert reason in said(*words)


def test_a_missing_plugin_is_said() -> None:
    compiler = Compiler("/usr/bin/clang", 16, None)
    assert added("-c", "a.c", compiler=compiler) == ()
    assert "without its plugin for clang 16" in said("-c", "a.c", compiler=compiler)


def test_a_static_program_is_said_when_it_is_linked() -> None:
    assert "cannot be watched" in said("-static", "a.o", "-o", "a")
    assert not said("-static", "-c", "a.c")
    assert "malloc" in said("-nostdlib", "a.o", "-o", "a")


def test_response_files_are_read(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.write_text("-DNAME='a b' \"x y.c\"")
    outer = tmp_path / "outer"
    outer.write_text(f"-O2 @{inner}")
    assert expand([f"@{outer}"]) == ["-O2", "-DNAME=a b", "x y.c"]
    assert CommandLine([f"@{outer}"]).sources == ["x y.c"]
    assert expand(["@missing"]) == ["@missing"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a\\ b 'c\\'d' \"e\\\"f\\g\"", ["a b", "c'd", 'e"fg']),
        ("-DA='\"x y\"'\n\n\t-c", ['-DA="x y"', "-c"]),
        ("a '' \"open b", ["a", "open b"]),
        ("", []),
    ],
)
def test_response_files_are_split_as_clang_does(
    text: str, words: list[str], tmp_path: Path
) -> None:
    (tmp_path / "words").write_text(text)
    assert expand([f"@{tmp_path}/words"]) == words


def test_response_files_without_options_of_ours_are_left_to_clang(
    tmp_path: Path,
) -> None:
    inner = tmp_path / "inner"
    inner.write_text("-O2 --births")
    outer = tmp_path / "outer"
    outer.write_text(f"@{inner} a.c")
    other = tmp_path / "other"
    other.write_text("b.o c.o")
    words = [f"@{outer}", f"@{other}", "-c"]
    expected = ["-O2", "--births", "a.c", f"@{other}", "-c"]
    assert expand_those_with(["--births"], words) == expected


def test_a_response_file_that_names_itself_ends(tmp_path: Path) -> None:
    ring = tmp_path / "ring"
    ring.write_text(f"-O1 @{ring}")
    assert expand([f"@{ring}"])[-1] == f"@{ring}"


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (None, "glibc.malloc.tcache_count=2000"),
        ("", "glibc.malloc.tcache_count=2000"),
        ("glibc.malloc.check=3", "glibc.malloc.check=3:glibc.malloc.tcache_count=2000"),
        ("glibc.malloc.tcache_count=0", "glibc.malloc.tcache_count=0"),
    ],
)
def test_clang_has_a_quicker_malloc_unless_the_user_tunes_it(
    told: str | None, expected: str
) -> None:
    own = {"PATH": "/bin"} | ({} if told is None else {"GLIBC_TUNABLES": told})
    assert environment_of_clang(own) == {"PATH": "/bin", "GLIBC_TUNABLES": expected}


def test_another_compiler_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    other = tmp_path / "clang"
    other.write_text("#!/bin/sh\necho 'Debian clang version 14.0.6'\n")
    other.chmod(0o755)
    monkeypatch.setenv(OVERRIDE, str(other))
    with pytest.raises(CompileError, match="clang 14"):
        find_compiler("clang")
    other.write_text("#!/bin/sh\necho 'gcc 12'\n")
    with pytest.raises(CompileError, match="no clang"):
        find_compiler("clang")
    monkeypatch.setenv(OVERRIDE, str(tmp_path / "missing"))
    with pytest.raises(CompileError, match="no program"):
        find_compiler("clang")
