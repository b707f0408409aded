"""How often the benchmark of compiled programs builds each way."""

from pathlib import Path

import pytest
from benchmarks import compiled
from benchmarks.debian_sources import Build, Source
from benchmarks.measure import Cost


def _unchanged(_folder: Path) -> None:
    pass


def test_builds_that_are_compared_take_turns_in_empty_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled, "build_of", lambda name: Build(name, name, ()))
    script = "echo $CC >> ../order; mkdir made"
    source = Source("program", _unchanged, script, "program")
    costs = compiled.built(source, ["plain", "leakline", "asan", "plain"], tmp_path)
    pair = ["plain", "leakline"]
    assert (tmp_path / "order").read_text().split() == [*pair, "asan", *pair, *pair]
    assert {name: len(of) for name, of in costs.items()} == {
        "plain": 3,
        "leakline": 3,
        "asan": 1,
    }


def test_the_least_of_the_builds_are_compared() -> None:
    plain = [Cost(2.0, 1), Cost(4.0, 1), Cost(3.0, 1)]
    watched = [Cost(9.0, 1), Cost(3.0, 1), Cost(5.0, 1)]
    assert compiled.ratio_of_least(plain, watched) == 1.5
