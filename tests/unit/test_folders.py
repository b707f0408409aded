"""The user's cache folder."""

from pathlib import Path

import pytest

from leakline.folders import cache_path, private_cache


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    return tmp_path


def test_it_lies_where_the_user_keeps_caches(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cache_path() == home / ".cache/leakline"
    monkeypatch.setenv("XDG_CACHE_HOME", "/elsewhere")
    assert cache_path() == Path("/elsewhere/leakline")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_path() == home / ".cache/leakline"


def test_it_is_made_for_the_user_alone(home: Path) -> None:
    folder = private_cache("symbols")
    assert folder == home / ".cache/leakline/symbols"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert private_cache() == folder.parent


@pytest.mark.parametrize("which", ["leakline", "leakline/symbols"])
def test_one_that_others_can_write_to_is_not_used(home: Path, which: str) -> None:
    assert private_cache("symbols") is not None
    (home / ".cache" / which).chmod(0o770)
    assert private_cache("symbols") is None


def test_a_link_in_its_place_is_not_followed(home: Path) -> None:
    (home / "trap").mkdir()
    (home / ".cache").mkdir()
    (home / ".cache/leakline").symlink_to(home / "trap")
    assert private_cache("symbols") is None
    assert list((home / "trap").iterdir()) == []


def test_without_a_place_there_is_none(home: Path) -> None:
    (home / ".cache").write_text("not a folder")
    assert private_cache() is None
