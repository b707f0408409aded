"""Plans that nobody uses go; those in use stay, whatever other runs do meanwhile."""

import mmap
import os
import time
from pathlib import Path

import pytest

from leakline.patching import expiry
from leakline.patching.kinds import PlanKind
from leakline.patching.plans import Wanted, plan_folder, prepare

DAY_S = 24 * 60 * 60
ZLIB = next(Path("/usr/lib/x86_64-linux-gnu").glob("libz.so.1")).resolve()


def used_days_ago(path: Path, *, read: float, written: float) -> Path:
    """Make a file that was last read and written some days ago."""
    path.write_bytes(b"plan")
    now = time.time()
    os.utime(path, (now - read * DAY_S, now - written * DAY_S))
    return path


@pytest.mark.parametrize("kind", PlanKind)
def test_a_plan_goes_when_it_was_neither_made_nor_read_for_long(
    tmp_path: Path, kind: PlanKind
) -> None:
    gone = used_days_ago(tmp_path / f"aa{kind.suffix}", read=31, written=31)
    read = used_days_ago(tmp_path / f"bb{kind.suffix}", read=29, written=90)
    made = used_days_ago(tmp_path / f"cc{kind.suffix}", read=90, written=29)
    expiry.remove_unused(tmp_path)
    assert not gone.exists()
    assert read.exists()
    assert made.exists()


@pytest.mark.parametrize("name", ["aa.plan", "aa.plan7.arm", "aa.births1", "new-x1y2"])
def test_what_this_version_cannot_use_goes_sooner(tmp_path: Path, name: str) -> None:
    path = used_days_ago(tmp_path / name, read=3, written=3)
    expiry.remove_unused(tmp_path)
    assert not path.exists()
    path = used_days_ago(tmp_path / name, read=1, written=3)
    expiry.remove_unused(tmp_path)
    assert path.exists()


def test_only_files_go(tmp_path: Path) -> None:
    other = used_days_ago(tmp_path / "kept.txt", read=1, written=1)
    folder = tmp_path / "plans"
    folder.mkdir()
    inner = folder / "folder"
    inner.mkdir()
    link = folder / "link"
    link.symlink_to(other)
    for path in (inner, link):
        os.utime(path, (0, 0), follow_symlinks=False)
    expiry.remove_unused(folder)
    assert inner.is_dir()
    assert link.is_symlink()
    assert other.exists()


def test_a_plan_that_is_mapped_stays_whole(tmp_path: Path) -> None:
    path = used_days_ago(tmp_path / "aa.plan1", read=9, written=9)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as m:
        os.utime(path, (0, 0))
        expiry.remove_unused(tmp_path)
        assert not path.exists()
        assert m[:] == b"plan"


def test_making_plans_removes_others_and_using_one_keeps_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    old = used_days_ago(plan_folder() / "aa.plan1", read=3, written=3)
    wanted = [Wanted(PlanKind.LOSS, ZLIB)]
    prepare(wanted)
    assert not old.exists()
    (plan,) = plan_folder().iterdir()
    os.utime(plan, (0, 0))
    prepare(wanted)
    assert time.time() - plan.stat().st_mtime < DAY_S
