"""Facts of small sources, for tests of the static checker."""

from collections.abc import Callable
from pathlib import Path

import pytest

from leakline.static.capture.command import Compilation
from leakline.static.capture.replay import extract
from leakline.static.capture.toolchain import Toolchain, find_toolchain
from leakline.static.facts import Unit
from leakline.static.facts_reader import parse_facts

FactsOf = Callable[..., Unit]


@pytest.fixture(scope="session")
def toolchain() -> Toolchain:
    """The clang and plugin that this Leakline works with."""
    return find_toolchain()


@pytest.fixture
def facts_of(tmp_path: Path, toolchain: Toolchain) -> FactsOf:
    """Compiles a text as a source of the given name and returns its facts."""

    def compile_text(text: str, name: str = "unit.c") -> Unit:
        source = tmp_path / name
        source.write_text(text)
        work = tmp_path / f"work-{name}"
        work.mkdir(exist_ok=True)
        compilation = Compilation(tmp_path, name, (), source)
        extraction = extract(compilation, toolchain, work)
        assert not extraction.failure
        return parse_facts(extraction.facts, name)

    return compile_text
