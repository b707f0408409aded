"""Builds that CMake describes: by compile database, and watched from the start."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BIN = Path(sys.executable).parent

CMAKE_LISTS = """
cmake_minimum_required(VERSION 3.20)
project(two C)
add_library(shared_code STATIC shared.c)
add_executable(first first.c)
add_executable(second second.c)
target_link_libraries(first shared_code)
target_link_libraries(second shared_code)
"""
SHARED = """
#include <stdlib.h>
void finish(char *p);
int work(int n) { char *p = malloc(8); if (!p) return 1; finish(p); return n; }
"""
# Both programs define `finish`; only the second one's releases what it is given.
FIRST = """
#include <stdio.h>
#include <stdlib.h>
int work(int n);
void finish(char *p) { if (p) puts("done"); }
static int forgets_bad(int n) { char *q = malloc(4); if (n > 2) return 3; free(q); return 0; }
int main(int n, char **v) { (void)v; return work(n) + forgets_bad(n); }
"""
SECOND = """
#include <stdlib.h>
int work(int n);
void finish(char *p) { free(p); }
int main(int n, char **v) { (void)v; return work(n); }
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    files = {
        "CMakeLists.txt": CMAKE_LISTS,
        "shared.c": SHARED,
        "first.c": FIRST,
        "second.c": SECOND,
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


def environment(project: Path) -> dict[str, str]:
    return {
        **os.environ,
        "PATH": f"{BIN}:{os.environ['PATH']}",
        "XDG_CACHE_HOME": str(project.parent / "cache"),
    }


def check(project: Path, *words: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "leakline", "check", "--format", "json", *words],
        cwd=project,
        env=environment(project),
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 23, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def expect_one_leak(report: dict[str, Any]) -> None:
    """The code both programs share must not be judged by one of them."""
    assert report["run"]["not_seen"] == []
    assert report["run"]["coverage"]["units"] == 3
    assert [
        finding["allocation"]["frames"][0]["function"] for finding in report["findings"]
    ] == ["forgets_bad"]


def configure(project: Path, generator: str) -> None:
    subprocess.run(
        ["cmake", "-G", generator, "-B", "out", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"],
        cwd=project,
        env=environment(project),
        check=True,
        capture_output=True,
        timeout=120,
    )


@pytest.mark.parametrize("generator", ["Unix Makefiles", "Ninja"])
def test_a_database_keeps_programs_apart(project: Path, generator: str) -> None:
    configure(project, generator)
    expect_one_leak(check(project, "out"))


def test_a_build_that_was_configured_before_is_watched(project: Path) -> None:
    configure(project, "Ninja")
    expect_one_leak(check(project, "--", "cmake", "--build", "out"))


def test_a_build_is_watched_from_its_configuration_on(project: Path) -> None:
    script = "cmake -B out . && cmake --build out"
    expect_one_leak(check(project, "--", "sh", "-c", script))
    for name in ("shared.c", "first.c", "second.c"):
        (project / name).touch()
    expect_one_leak(check(project, "--", "cmake", "--build", "out"))
