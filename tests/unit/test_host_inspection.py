"""What `leakline doctor` says about the machine."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from leakline.cli.inspection.host import inspect_host
from leakline.cli.inspection.observation import State


def executable_files(runtime: Path) -> tuple[State, str]:
    rows = inspect_host({"LEAKLINE_RUNTIME": str(runtime)})
    return next((row.state, row.words) for row in rows if row.subject == "file mounts")


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "runtime" / "libleakline.so"
    path.parent.mkdir()
    path.touch()
    return path


def mount_noexec(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def statvfs(path: Path) -> SimpleNamespace:
        return SimpleNamespace(
            f_flag=os.ST_NOEXEC if path.is_relative_to(folder) else 0
        )

    monkeypatch.setattr(os, "statvfs", statvfs)


def test_usual_mounts_are_good(runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mount_noexec(Path("/nowhere"), monkeypatch)
    assert executable_files(runtime)[0] is State.GOOD


def test_a_runtime_that_cannot_be_loaded_is_bad(
    runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mount_noexec(runtime.parent, monkeypatch)
    state, words = executable_files(runtime)
    assert state is State.BAD
    assert str(runtime) in words


def test_plans_that_cannot_be_loaded_are_said(
    runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = runtime.parent.parent / "cache"
    cache.mkdir()
    mount_noexec(cache, monkeypatch)
    state, words = executable_files(runtime)
    assert state is State.LIMITED
    assert "XDG_CACHE_HOME" in words
