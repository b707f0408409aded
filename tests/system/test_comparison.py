"""Leaks are known again after a program was edited, moved and built anew."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from .command import leakline, plain
from .conftest import LEAKLINE, PROGRAMS

SOURCE = (PROGRAMS / "comparison.cpp").read_text()
NEW_LEAK = """
void lose_more() {
    forget(std::malloc(4242));
}
"""
MAIN = "int main() {\n"
LEAKS = 9  # one per call in `main`, two in `lose_twice`


def build(folder: Path, source: str, *flags: str) -> Path:
    folder.mkdir(parents=True)
    (folder / "comparison.cpp").write_text(source)
    program = folder / "comparison"
    command = ["g++", "-std=c++17", "-g", *flags, "comparison.cpp", "-o", str(program)]
    subprocess.run([*command, "-pthread"], check=True, timeout=120, cwd=folder)
    return program


def moved_lines(source: str) -> str:
    """The program with other lines, other code between, and the same leaks."""
    unrelated = "static int unrelated(int x) {\n    return x * 3 + 1;\n}\n" + "\n" * 20
    source = source.replace("namespace {", f"{unrelated}namespace {{", 1)
    source = source.replace(MAIN, f"{MAIN}    (void)unrelated(1);\n\n\n")
    return source.replace("depth - 1", "\n            depth -\n            1")


def with_new_leak(source: str) -> str:
    return source.replace(MAIN, f"{NEW_LEAK}\n{MAIN}    lose_more();\n")


def report_of(program: Path, report: Path, *options: str) -> dict[str, Any]:
    words = ["--format", "json", "--report-file", str(report), *options]
    done = leakline("run", *words, "--", program)
    assert report.exists(), done.stderr
    document: dict[str, Any] = json.loads(report.read_text())
    return document


def ids(document: dict[str, Any]) -> list[str]:
    return sorted(finding["id"] for finding in document["findings"])


@pytest.mark.parametrize("optimisation", ["-O0", "-O2"])
def test_leaks_keep_their_names_through_edits_moves_and_rebuilds(
    optimisation: str, tmp_path: Path
) -> None:
    before = build(tmp_path / "first" / "src", SOURCE, optimisation)
    after = build(tmp_path / "2nd" / "lib", moved_lines(SOURCE), optimisation, "-pie")
    first = report_of(before, tmp_path / "first.json")
    second = report_of(after, tmp_path / "second.json")
    assert len(set(ids(first))) == LEAKS
    assert ids(first) == ids(second)
    assert places(first).isdisjoint(places(second))


def test_leaks_of_inlined_functions_keep_their_names(tmp_path: Path) -> None:
    plain_build = build(tmp_path / "plain", SOURCE, "-O0")
    inlined_build = build(tmp_path / "inlined", SOURCE, "-O2")
    first = report_of(plain_build, tmp_path / "first.json")
    second = report_of(inlined_build, tmp_path / "second.json")
    frames = [
        frame
        for finding in second["findings"]
        for frame in finding["allocation"]["frames"]
    ]
    assert any(frame["inlined"] for frame in frames)
    # In the thread's stack, optimisation turns calls of the library into jumps.
    assert len(set(ids(first)) & set(ids(second))) == LEAKS - 1


def places(document: dict[str, Any]) -> set[tuple[str, int]]:
    """File and line of each allocation, to prove that the edit moved it."""
    return {
        (frame["file"], frame["line"])
        for finding in document["findings"]
        for frame in finding["allocation"]["frames"]
        if frame["file"].endswith("comparison.cpp")
    }


@pytest.fixture
def baseline(tmp_path: Path) -> Path:
    program = build(tmp_path / "first", SOURCE)
    report = tmp_path / "baseline.json"
    report_of(program, report)
    return report


def test_only_new_leaks_fail_beside_a_baseline(baseline: Path, tmp_path: Path) -> None:
    same = build(tmp_path / "same", moved_lines(SOURCE))
    done = leakline("run", "--baseline", baseline, "--", same)
    assert done.returncode == 0
    assert "no new leaks found" in done.stderr
    assert f"0 new, 0 grown, 0 gone, {LEAKS} not grown" in done.stderr
    worse = build(tmp_path / "worse", with_new_leak(moved_lines(SOURCE)))
    done = leakline("run", "--baseline", baseline, "--", worse)
    assert done.returncode == 23
    assert "1 new leak: 4,242 bytes in 1 block" in done.stderr
    assert "lose_more" in done.stderr
    assert "#2" not in done.stderr


def test_a_recording_is_reported_beside_a_baseline(
    baseline: Path, tmp_path: Path
) -> None:
    worse = build(tmp_path / "worse", with_new_leak(SOURCE))
    recording = tmp_path / "recording"
    leakline("run", "-o", recording, "--", worse)
    assert leakline("report", recording).returncode == 0
    assert leakline("report", "--baseline", baseline, recording).returncode == 23
    quiet = ["--error-exitcode", "0", "--baseline", str(baseline)]
    assert leakline("report", *quiet, recording).returncode == 0
    assert leakline("report", "--baseline", recording, recording).returncode == 0
    env = {"LEAKLINE_OPTIONS": f"baseline={baseline}"}
    assert leakline("run", "--", worse, env=env).returncode == 23


def test_diff_tells_new_grown_and_gone(baseline: Path, tmp_path: Path) -> None:
    source = with_new_leak(SOURCE).replace("malloc(13)", "malloc(1300)")
    changed = build(tmp_path / "changed", source.replace("    lose_a_copy();\n", ""))
    recording = tmp_path / "recording"
    leakline("run", "-o", recording, "--", changed)
    done = leakline("diff", baseline, recording)
    assert done.returncode == 23
    assert "1 new, 1 grown, 1 gone, 7 not grown" in done.stdout
    assert "grown  13 to 1,300 bytes, 1 to 1 blocks  " in done.stdout
    assert "gone   25 bytes in 1 block  " in done.stdout
    back = leakline("diff", recording, baseline)
    assert back.returncode == 23
    assert "1 new, 0 grown, 1 gone, 8 not grown" in back.stdout
    assert leakline("diff", recording, recording).returncode == 0


def test_a_report_with_a_baseline_serves_as_the_next_one(
    baseline: Path, tmp_path: Path
) -> None:
    worse = build(tmp_path / "worse", with_new_leak(SOURCE))
    second = tmp_path / "second.json"
    document = report_of(worse, second, "--baseline", str(baseline))
    assert len(document["findings"]) == 1
    assert len(document["comparison"]["known"]) == LEAKS
    done = leakline("run", "--baseline", second, "--", worse)
    assert done.returncode == 0


def test_a_baseline_that_cannot_be_read_is_told_before_the_run(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign.json"
    foreign.write_text('{"schema": "other"}')
    for file in (foreign, tmp_path / "missing"):
        done = leakline("run", "--baseline", file, "--", "echo", "ran")
        assert (done.returncode, done.stdout) == (4, "")
        assert str(file) in done.stderr
        assert done.stderr.count("\n") == 1


def test_a_baseline_may_come_through_a_pipe(baseline: Path, tmp_path: Path) -> None:
    program = tmp_path / "first" / "comparison"
    script = f"'{LEAKLINE}' run --baseline <(cat '{baseline}') -- '{program}'"
    done = plain("bash", "-c", script)
    assert done.returncode == 0, done.stderr


def test_a_json_report_is_rendered_again(baseline: Path) -> None:
    shown = leakline("report", baseline)
    assert shown.stdout.startswith(f"Leakline  {LEAKS} leaks: ")
    profile = leakline("report", "--format", "collapsed", baseline).stdout
    assert sum(int(line.split()[-1]) for line in profile.splitlines()) == sum(
        finding["bytes"] for finding in json.loads(baseline.read_text())["findings"]
    )
