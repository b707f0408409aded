"""What runs of build tools compiled and linked."""

import json
import os
from pathlib import Path

import pytest

from leakline.errors import CheckError
from leakline.static.capture.database import read_database
from leakline.static.capture.tools import Invocation, interpret, is_build_tool

HERE = Path("/project")


def run(text: str, directory: Path = HERE) -> Invocation:
    return Invocation(directory, tuple(text.split()))


@pytest.mark.parametrize(
    "name",
    [
        "cc",
        "gcc",
        "gcc-12",
        "g++",
        "clang++-19",
        "aarch64-linux-gnu-gcc",
        "ccache",
        "ar",
    ],
)
def test_build_tools_are_known_by_name(name: str) -> None:
    assert is_build_tool(name)


@pytest.mark.parametrize("name", ["make", "cpp", "gccgo", "ld.so", "ccmake", "clangd"])
def test_other_programs_are_not_build_tools(name: str) -> None:
    assert not is_build_tool(name)


def test_an_object_is_named_by_its_output() -> None:
    compiled, linked = interpret(run("gcc -c ../src/a.c -o obj/a.o"))
    assert [c.output for c in compiled] == [Path("/project/obj/a.o")]
    assert compiled[0].source_path == Path("/project/../src/a.c")
    assert linked == []


def test_several_sources_make_several_objects() -> None:
    compiled, _ = interpret(run("gcc -c a.c sub/b.c"))
    assert [c.output for c in compiled] == [Path("/project/a.o"), Path("/project/b.o")]


def test_compiling_and_linking_in_one_go_links_the_sources() -> None:
    compiled, linked = interpret(run("cc -o prog a.c b.o -lx"))
    assert linked[0].inputs == (compiled[0].output, Path("/project/b.o"))
    assert linked[0].libraries == ("x",)
    assert linked[0].closed


def test_a_launcher_stands_before_the_compiler() -> None:
    compiled, _ = interpret(run("ccache gcc -c a.c"))
    assert [c.source for c in compiled] == ["a.c"]


def test_a_c_source_is_cpp_for_a_cpp_compiler() -> None:
    compiled, _ = interpret(run("g++ -c a.c"))
    assert compiled[0].flags == ("-x", "c++")


def test_a_cross_compiler_names_its_target() -> None:
    compiled, _ = interpret(run("aarch64-linux-gnu-gcc-12 -c a.c"))
    assert compiled[0].flags == ("--target=aarch64-linux-gnu",)
    compiled, _ = interpret(run("musl-gcc -c a.c"))
    assert compiled[0].flags == ()


def test_an_archive_has_members() -> None:
    _, linked = interpret(run("ar rcs libx.a a.o b.o"))
    assert linked[0].output == Path("/project/libx.a")
    assert not linked[0].closed


@pytest.mark.parametrize("text", ["ar t libx.a", "ar x libx.a a.o", "gcc --version"])
def test_looking_is_no_build(text: str) -> None:
    assert interpret(run(text)) == ([], [])


def test_a_linker_option_is_not_a_question() -> None:
    _, linked = interpret(run("ld -E -o prog a.o"))
    assert linked[0].closed


def test_probes_of_configuration_scripts_are_not_checked() -> None:
    assert interpret(run("gcc -c conftest.c"))[0] == []
    assert interpret(run("gcc -c x.c", Path("/b/CMakeFiles/CMakeTmp")))[0] == []


def test_a_database_gives_its_compilations(tmp_path: Path) -> None:
    entries = [
        {"directory": "sub", "command": "cc -DX='a b' -c a.c -o a.o", "file": "a.c"},
        {"directory": "/w", "arguments": ["/opt/odd-compiler", "-c", "b.c"]},
    ]
    entries += [{"directory": "/w"}, {"directory": "/w", "command": ""}]
    path = tmp_path / "compile_commands.json"
    path.write_text(json.dumps(entries))
    build = read_database(path)
    assert [c.source for c in build.compilations] == ["a.c", "b.c"]
    assert build.compilations[0].directory == tmp_path / "sub"
    assert build.compilations[0].flags == ("-DX=a b",)
    assert len(build.remarks) == 2


@pytest.mark.parametrize("command", [None, 7, ["cc"], {}, True])
def test_a_command_that_is_no_text_is_remarked(command: object, tmp_path: Path) -> None:
    path = tmp_path / "compile_commands.json"
    path.write_text(json.dumps([{"directory": "/w", "command": command}]))
    build = read_database(path)
    assert not build.compilations
    assert "the command must be text" in build.remarks[0]


def test_a_database_that_is_too_deep_or_too_large_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "compile_commands.json"
    path.write_text("[" * 100_000)
    with pytest.raises(CheckError, match="is not valid JSON"):
        read_database(path)
    os.truncate(path, 20 << 30)
    with pytest.raises(CheckError, match="is too large"):
        read_database(path)


def database(folder: Path) -> Path:
    path = folder / "compile_commands.json"
    entry = {"directory": str(folder), "command": "cc -c a.c -o x.dir/a.o"}
    path.write_text(json.dumps([entry]))
    return path


def test_links_of_a_makefile_build_are_found(tmp_path: Path) -> None:
    texts = {
        "CMakeFiles/x.dir": "/usr/bin/ar qc libx.a x.dir/a.o\n/usr/bin/ranlib libx.a\n",
        "sub/CMakeFiles/p.dir": "/usr/bin/cc -o p p.dir/m.o ../libx.a\n",
    }
    for name, text in texts.items():
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "link.txt").write_text(text)
    links = {step.output: step for step in read_database(database(tmp_path)).links}
    assert links[tmp_path / "libx.a"].inputs == (tmp_path / "x.dir/a.o",)
    program = links[tmp_path / "sub/p"]
    assert program.inputs == (tmp_path / "sub/p.dir/m.o", tmp_path / "libx.a")
    assert program.closed


def test_links_of_a_ninja_build_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ninja = tmp_path / "bin" / "ninja"
    ninja.parent.mkdir()
    ninja.write_text(
        "#!/bin/sh\necho 'cc -c a.c -o x.dir/a.o'\n"
        "echo ': && cc x.dir/a.o -o prog && :'\n"
    )
    ninja.chmod(0o755)
    monkeypatch.setenv("PATH", f"{ninja.parent}:/usr/bin:/bin")
    (tmp_path / "build.ninja").write_text("")
    links = read_database(database(tmp_path)).links
    assert [(step.output.name, step.closed) for step in links] == [("prog", True)]


def test_without_a_ninja_links_stay_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "build.ninja").write_text("")
    assert read_database(database(tmp_path)).links == ()


@pytest.mark.parametrize("text", ["{", "{}", "\x00"])
def test_a_damaged_database_is_refused_in_a_sentence(tmp_path: Path, text: str) -> None:
    path = tmp_path / "compile_commands.json"
    path.write_text(text)
    with pytest.raises(CheckError, match=r"compile_commands\.json"):
        read_database(path)


def test_an_unreadable_database_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(CheckError, match="cannot be read"):
        read_database(tmp_path / "compile_commands.json")
