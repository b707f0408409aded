"""Sources compiled again with clang: what stops it, and what must not."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from leakline.errors import CheckError
from leakline.static.cache import trim, user_cache_folder, write_atomically
from leakline.static.capture.attributes import rejected_places, rewrite
from leakline.static.capture.command import Build, Compilation
from leakline.static.capture.facts_cache import FactsCache
from leakline.static.capture.gather import Gathered, Gatherer
from leakline.static.capture.replay import extract
from leakline.static.capture.toolchain import Toolchain, find_toolchain

Source = Callable[..., Compilation]


@pytest.fixture
def source(tmp_path: Path) -> Source:
    """Writes a source and says how it is compiled."""

    def write(text: str, *flags: str, name: str = "a.c") -> Compilation:
        path = tmp_path / name
        path.write_text(text)
        return Compilation(tmp_path, name, flags, path.with_suffix(".o"))

    return write


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def gather(
    toolchain: Toolchain, cache: Path | None, *compilations: Compilation
) -> Gathered:
    kept = FactsCache(cache) if cache else None
    return Gatherer(toolchain, kept, 2, lambda: None).gather(Build(compilations))


@pytest.mark.parametrize(
    "flag", ["-march=no-such-cpu", "-mavx9000", "-stdlib=nothing", "--target=moon"]
)
def test_options_that_clang_refuses_are_dropped(
    source: Source, toolchain: Toolchain, work: Path, flag: str
) -> None:
    assert not extract(
        source("int f(void) { return 1; }", flag), toolchain, work
    ).failure


def test_code_that_gcc_accepts_is_read(
    source: Source, toolchain: Toolchain, work: Path
) -> None:
    text = (
        "#warning old\n"
        "f(a) char *a; { int n = a; undeclared(n); return; }\n"
        "__attribute__((optimize(3), noipa, access(read_only, 1))) int g(char *p)"
        " { return *p; }\n"
    )
    assert not extract(source(text, "-std=gnu89"), toolchain, work).failure


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("int f(void) { return }", "expected expression"),
        ('#include "missing.h"\n', "'missing.h' file not found"),
        ("#error stop here\n", "stop here"),
    ],
)
def test_the_first_error_is_the_reason(
    source: Source, toolchain: Toolchain, work: Path, text: str, why: str
) -> None:
    extraction = extract(source(text), toolchain, work)
    assert why in extraction.failure
    assert "a.c:1" in extraction.failure
    assert "\n" not in extraction.failure


def script(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("behaviour", "why"),
    [
        ("kill -SEGV $$", "crashed (SIGSEGV)"),
        ("exit 0", "wrote no facts"),
        ("exit 3", "status 3"),
    ],
)
def test_a_failing_compiler_is_a_reason(
    tmp_path: Path, source: Source, work: Path, behaviour: str, why: str
) -> None:
    clang = script(tmp_path / "clang", behaviour)
    extraction = extract(source("int x;"), Toolchain(clang, Path("none"), ""), work)
    assert why in extraction.failure


def test_one_bad_source_does_not_stop_the_others(
    source: Source, toolchain: Toolchain
) -> None:
    good = source("int f(void) { return 1; }", name="good.c")
    bad = source("int g(void) {", name="bad.c")
    gathered = gather(toolchain, None, bad, good)
    assert [unit.source for unit in gathered.units] == ["good.c"]
    assert len(gathered.failures) == 1
    assert "bad.c could not be analysed" in gathered.failures[0]


def test_a_source_compiled_twice_counts_once(
    source: Source, toolchain: Toolchain, tmp_path: Path
) -> None:
    once = source("int f(void) { return 1; }")
    again = Compilation(tmp_path, "a.c", ("-DPIC",), tmp_path / "pic.o")
    other = Compilation(tmp_path, "a.c", ("-Dint=long",), tmp_path / "other.o")
    assert len(gather(toolchain, None, once, again).units) == 1
    assert len(gather(toolchain, None, once, other).units) == 2


def test_unchanged_sources_come_from_the_cache(
    source: Source, toolchain: Toolchain, tmp_path: Path
) -> None:
    (tmp_path / "a.h").write_text("#define N 1\n")
    compilation = source('#include "a.h"\nint f(void) { return N; }')
    cache = tmp_path / "cache"
    first = gather(toolchain, cache, compilation)
    again = gather(toolchain, cache, compilation)
    assert (first.reused, again.reused) == (0, 1)
    assert first.units == again.units


def test_a_changed_header_is_noticed(
    source: Source, toolchain: Toolchain, tmp_path: Path
) -> None:
    header = tmp_path / "a.h"
    compilation = source('#include "a.h"\nint f(void) { return N; }')
    cache = tmp_path / "cache"
    digests = []
    for value in (1, 2, 1):
        header.write_text(f"#define N {value}\n")
        gathered = gather(toolchain, cache, compilation)
        digests.append(gathered.units[0].functions["f"].digest())
    assert digests[0] != digests[1]
    assert digests[0] == digests[2]
    assert gathered.reused == 1


def test_a_damaged_cache_is_made_again(
    source: Source, toolchain: Toolchain, tmp_path: Path
) -> None:
    compilation = source("int f(void) { return 1; }")
    cache = tmp_path / "cache"
    gather(toolchain, cache, compilation)
    for path in cache.rglob("*"):
        if path.is_file():
            path.write_bytes(path.read_bytes()[:50])
    gathered = gather(toolchain, cache, compilation)
    assert gathered.reused == 0
    assert list(gathered.units[0].functions) == ["f"]


def test_the_cache_belongs_to_its_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = user_cache_folder()
    assert folder == tmp_path / "leakline"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_no_cache_is_better_than_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert user_cache_folder() is None


def test_files_appear_whole(tmp_path: Path) -> None:
    write_atomically(tmp_path / "x" / "y", b"old")
    write_atomically(tmp_path / "x" / "y", b"new")
    assert [path.read_bytes() for path in (tmp_path / "x").iterdir()] == [b"new"]


def test_a_full_cache_loses_its_oldest_files(tmp_path: Path) -> None:
    for age in range(10):
        path = tmp_path / f"{age}"
        path.write_bytes(b"x" * 100)
        os.utime(path, (1000 - age, 1000 - age))
    trim(tmp_path, max_bytes=900, keep_bytes=500)
    assert sorted(path.name for path in tmp_path.iterdir()) == list("01234")


def test_places_of_a_rejected_attribute_are_found() -> None:
    text = (
        "a.h:3:20: error: 'malloc' attribute takes no arguments\n"
        "b.h:7:1: error: '__malloc__' attribute takes no arguments\n"
        "c.h:9:5: note: expanded from macro 'M'\n"
        "d.h:1:1: error: something else\n"
        "e.h:2:2: note: expanded from macro 'N'\n"
    )
    assert rejected_places(text) == {"a.h": {3}, "b.h": {7}, "c.h": {9}}


def test_a_rewritten_source_keeps_its_lines() -> None:
    text = "int a;\nvoid *m(void) __attribute__((malloc(drop, 2)));\nint b;"
    changed = rewrite(text, [2])
    assert len(changed.splitlines()) == 3
    assert 'malloc, annotate("leakline.release=" "drop" "," "2")' in changed


def test_another_major_of_clang_is_refused(tmp_path: Path) -> None:
    clang = script(tmp_path / "clang", "echo 'Debian clang version 14.0.6'")
    with pytest.raises(CheckError, match=r"is clang 14; .* clang 19 only"):
        find_toolchain(clang)


def test_what_is_no_clang_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckError, match="is not a clang"):
        find_toolchain(script(tmp_path / "clang", "echo gcc"))


def test_a_missing_clang_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("leakline.static.capture.toolchain._version", lambda _: None)
    with pytest.raises(CheckError, match="No clang 19 was found"):
        find_toolchain()


def test_a_missing_plugin_is_said(tmp_path: Path, toolchain: Toolchain) -> None:
    with pytest.raises(CheckError, match="plugin for clang 19 is not installed"):
        find_toolchain(toolchain.clang, native=tmp_path)
