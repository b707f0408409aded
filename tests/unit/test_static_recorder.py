"""Builds watched through stand-ins for their tools; most tools here are scripts."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from leakline.errors import CheckError
from leakline.static.capture import recorder
from leakline.static.capture.archives import member_names
from leakline.static.capture.clang_log import logged_compilations
from leakline.static.capture.command import Build

REAL_GCC = shutil.which("gcc") or "gcc"
REAL_CLANG = shutil.which("clang-19") or "clang-19"
REAL_CCACHE = shutil.which("ccache") or "ccache"
REAL_AR = shutil.which("ar") or "ar"

# Takes arguments as a compiler does and touches its output.
COMPILER = """#!/bin/sh
while [ $# -gt 0 ]; do
    [ "$1" = -o ] && echo made > "$2"
    shift
done
exit ${COMPILER_STATUS:-0}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to build in, with scripts as gcc, ccache and ar in the PATH."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("gcc", "ar"):
        (tools / name).write_text(COMPILER)
    (tools / "ccache").write_text('#!/bin/sh\nexec "$@"\n')
    for tool in tools.iterdir():
        tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for name in ("a.c", "b.c", "odd name.c"):
        (folder / name).write_text("int x;\n")
    return folder


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def record_build(command: list[str], work: Path) -> tuple[int, Build]:
    records = work / "records"
    records.mkdir(exist_ok=True)
    return recorder.record_build(command, records, work / "bin")


def test_compilations_and_links_are_seen(project: Path, work: Path) -> None:
    script = "gcc -c a.c -o a.o && gcc -c b.c -o b.o && gcc a.o b.o -o prog"
    status, build = record_build(["sh", "-c", script], work)
    assert status == 0
    assert [c.output for c in build.compilations] == [project / "a.o", project / "b.o"]
    assert build.links[0].inputs == (project / "a.o", project / "b.o")


@pytest.mark.usefixtures("project")
def test_arguments_arrive_unchanged(work: Path) -> None:
    script = """gcc -c 'odd name.c' "-DTEXT=a 'b' \\"c\\"
d" -o odd.o"""
    _, build = record_build(["sh", "-c", script], work)
    assert build.compilations[0].source == "odd name.c"
    assert build.compilations[0].flags == ("-DTEXT=a 'b' \"c\"\nd",)


@pytest.mark.usefixtures("project")
def test_many_tools_at_once_lose_no_record(work: Path) -> None:
    script = "for i in $(seq 40); do gcc -c a.c -o $i.o & done; wait"
    _, build = record_build(["sh", "-c", script], work)
    assert len(build.compilations) == 40


@pytest.mark.usefixtures("project")
def test_a_compiler_behind_ccache_is_recorded_once(work: Path) -> None:
    _, build = record_build(["ccache", "gcc", "-c", "a.c", "-o", "a.o"], work)
    assert len(build.compilations) == 1
    assert len(list((work / "records").glob("*.done"))) == 1


def test_a_response_file_may_vanish_after_use(project: Path, work: Path) -> None:
    (project / "args").write_text("-DFROM_FILE -c a.c -o a.o")
    _, build = record_build(["sh", "-c", "gcc @args && rm args"], work)
    assert build.compilations[0].flags == ("-DFROM_FILE",)


def test_a_compiler_named_by_its_path_is_caught(
    project: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", str(project.parent / "tools" / "gcc"))
    _, build = record_build(["sh", "-c", "$CC -c a.c -o a.o"], work)
    assert len(build.compilations) == 1


@pytest.mark.usefixtures("project")
def test_the_status_of_tool_and_build_is_kept(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPILER_STATUS", "3")
    status, build = record_build(["sh", "-c", "gcc -c a.c -o a.o || exit 7"], work)
    assert status == 7
    assert len(build.compilations) == 1


@pytest.mark.usefixtures("project")
def test_archives_grow(work: Path) -> None:
    script = "gcc -c a.c; gcc -c b.c; ar rc libx.a a.o; ar r libx.a b.o"
    _, build = record_build(["sh", "-c", script], work)
    assert [path.name for path in build.links[0].inputs] == ["a.o", "b.o"]


@pytest.mark.usefixtures("project")
def test_a_source_that_is_gone_is_said(work: Path) -> None:
    script = "cp a.c gen.c; gcc -c gen.c -o gen.o; rm gen.c"
    _, build = record_build(["sh", "-c", script], work)
    assert build.compilations == ()
    assert "gen.c" in build.remarks[0]


@pytest.mark.usefixtures("project")
def test_a_trial_that_leaves_nothing_is_not_worth_a_word(work: Path) -> None:
    script = "cp a.c try.c; gcc -c try.c -o try.o; rm try.c try.o"
    _, build = record_build(["sh", "-c", script], work)
    assert (build.compilations, build.remarks) == ((), ())


@pytest.mark.usefixtures("project")
def test_a_trial_in_a_folder_that_is_gone_is_passed_over(work: Path) -> None:
    script = "mkdir d; cd d; gcc -c ../a.c -o x.o; cd ..; rm -r d"
    _, build = record_build(["sh", "-c", script], work)
    assert (build.compilations, build.remarks) == ((), ())


@pytest.mark.usefixtures("project")
def test_a_command_that_does_not_exist_is_refused(work: Path) -> None:
    with pytest.raises(CheckError, match="no-such-build"):
        record_build(["no-such-build"], work)


@pytest.mark.usefixtures("project")
def test_stand_ins_work_when_nobody_watches(work: Path, project: Path) -> None:
    record_build(["true"], work)
    stand_in = work / "bin" / "gcc"
    subprocess.run([stand_in, "-c", "a.c", "-o", "later.o"], check=True)
    assert (project / "later.o").is_file()
    assert list((work / "records").iterdir()) == []


@pytest.mark.usefixtures("project")
def test_a_build_that_remembers_a_stand_in_is_seen_again(work: Path) -> None:
    script = "[ -f path ] || command -v gcc > path; $(cat path) -c a.c -o a.o"
    for _ in range(2):
        _, build = record_build(["sh", "-c", script], work)
        assert len(build.compilations) == 1
        shutil.rmtree(work / "records")


def test_stand_ins_follow_tools_that_move(
    project: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record_build(["true"], work)
    tools = project.parent / "tools"
    moved = tools.rename(project.parent / "moved")
    monkeypatch.setenv("PATH", f"{work / 'bin'}:{moved}:{os.environ['PATH']}")
    status, build = record_build(["gcc", "-c", "a.c", "-o", "a.o"], work)
    assert (status, len(build.compilations)) == (0, 1)


@pytest.fixture
def gcc_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two sources for the real compiler."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.c").write_text("int half(int n) { return n / 2; }\n")
    (folder / "m.c").write_text("int half(int);\nint main(void) { return half(0); }\n")
    monkeypatch.chdir(folder)
    return folder


def test_gcc_called_by_its_full_path_is_seen(gcc_project: Path, work: Path) -> None:
    script = f"{REAL_GCC} -DX='a b' -c a.c -o a.o && {REAL_GCC} m.c a.o -o prog"
    status, build = record_build(["sh", "-c", script], work)
    assert status == 0
    assert [c.source for c in build.compilations] == ["a.c", "m.c"]
    assert build.compilations[0].flags == ("-DX=a b",)
    assert build.links[0].inputs == (gcc_project / "m.c", gcc_project / "a.o")
    subprocess.run([gcc_project / "prog"], check=True)


def test_clang_called_by_its_full_path_is_seen(gcc_project: Path, work: Path) -> None:
    clang = REAL_CLANG
    script = (
        f'{clang} -c a.c -DTEXT=\\"a\\ b\\" -I include -std=c99 -o a.o && '
        f"{clang} -c m.c -o m.o && {clang} a.o m.o -o prog && {clang} a.c m.c -o one"
    )
    status, build = record_build(["sh", "-c", script], work)
    assert status == 0
    assert {c.output: c.source for c in build.compilations} == {
        gcc_project / "a.o": "a.c",
        gcc_project / "m.o": "m.c",
        gcc_project / "a.c": "a.c",
        gcc_project / "m.c": "m.c",
    }
    first = build.compilations[0]
    assert {'-DTEXT="a b"', "-Iinclude", "-std=c99"} <= set(first.flags)
    inputs = {link.output.name: link.inputs for link in build.links}
    assert inputs == {
        "prog": (gcc_project / "a.o", gcc_project / "m.o"),
        "one": (gcc_project / "a.c", gcc_project / "m.c"),
    }


def test_clang_in_the_path_is_not_seen_twice(gcc_project: Path, work: Path) -> None:
    status, build = record_build(["clang-19", "-c", "a.c", "-o", "a.o"], work)
    assert status == 0
    (only,) = build.compilations
    assert (only.output, only.flags) == (gcc_project / "a.o", ())


def test_a_log_of_clang_that_is_cut_short_does_no_harm(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b'[Logging clang options]\n "clang" "-cc1" "-triple" "x86')
    assert list(logged_compilations(log)) == []
    assert list(logged_compilations(tmp_path / "absent")) == []


def test_a_compiler_behind_a_cache_that_knows_the_answer_is_seen(
    gcc_project: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CCACHE_DIR", str(work / "ccache"))
    monkeypatch.delenv("CCACHE_DISABLE", raising=False)
    command = [REAL_CCACHE, REAL_GCC, "-c", "a.c", "-o", "a.o"]
    subprocess.run(command, check=True)
    status, build = record_build(command, work)
    assert status == 0
    assert [c.output for c in build.compilations] == [gcc_project / "a.o"]


@pytest.mark.usefixtures("gcc_project")
def test_a_compiler_with_a_cross_name_is_seen(work: Path) -> None:
    machine = subprocess.check_output([REAL_GCC, "-dumpmachine"], text=True).strip()
    status, build = record_build([f"{machine}-gcc", "-c", "a.c"], work)
    assert status == 0
    assert build.compilations[0].flags == (f"--target={machine}",)


def test_response_files_of_gcc_called_by_its_full_path(
    gcc_project: Path, work: Path
) -> None:
    (gcc_project / "args").write_text("-DFROM_FILE -c a.c")
    _, build = record_build(["sh", "-c", f"{REAL_GCC} @args -o a.o && rm args"], work)
    assert build.compilations[0].flags == ("-DFROM_FILE",)


@pytest.mark.usefixtures("gcc_project")
def test_a_search_path_for_parts_of_gcc_stays(
    work: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    parts = tmp_path / "parts"
    parts.mkdir()
    (parts / "cc1").write_text("#!/bin/sh\nexit 9\n")
    (parts / "cc1").chmod(0o755)
    monkeypatch.setenv("COMPILER_PATH", str(parts))
    status, build = record_build([REAL_GCC, "-c", "a.c"], work)
    assert status != 0
    assert len(build.compilations) == 1


def test_members_of_an_archive_that_was_made_unseen(
    gcc_project: Path, work: Path
) -> None:
    long_name = "a_rather_long_name_of_an_object.o"
    script = (
        f"{REAL_GCC} -c a.c -o {long_name} && {REAL_GCC} -c m.c"
        f" && {REAL_AR} rcs libx.a {long_name}"
        f" && {REAL_GCC} m.o libx.a -o prog"
    )
    status, build = record_build(["sh", "-c", script], work)
    assert status == 0
    members = {step.output.name: step.inputs for step in build.links}
    assert members["libx.a"] == (gcc_project / long_name,)


@pytest.mark.parametrize("kind", ["rcs", "rcsT"])
def test_member_names_are_those_that_ar_lists(tmp_path: Path, kind: str) -> None:
    names = ["a.o", "fifteen_chars.o", "sixteen_chars_.o", "b c.o", "odd"]
    for name in names:
        (tmp_path / name).write_text(name)
    archive = tmp_path / "x.a"
    subprocess.run([REAL_AR, kind, archive, *names], cwd=tmp_path, check=True)
    assert member_names(archive) == names


@pytest.mark.parametrize("content", [b"", b"!<arch>\n", b"!<arch>\n" + b"x" * 90])
def test_what_is_no_archive_has_no_members(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.a").write_bytes(content)
    assert member_names(tmp_path / "x.a") == []
    assert member_names(tmp_path / "gone.a") == []
