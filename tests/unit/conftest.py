"""Small programs, compiled once, and facts of small sources."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from leakline.static.capture.command import Compilation
from leakline.static.capture.replay import extract
from leakline.static.capture.toolchain import Toolchain, find_toolchain
from leakline.static.facts import Unit
from leakline.static.facts_reader import parse_facts
from leakline.symbols import debug_files

FactsOf = Callable[..., Unit]


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return a function that compiles source text once per set of flags."""
    folder = tmp_path_factory.mktemp("compiled")
    done: dict[tuple[str, ...], Path] = {}

    def compile_text(text: str, *flags: str, language: str = "c") -> Path:
        key = (text, language, *flags)
        if key not in done:
            source = folder / f"source{len(done)}.{language}"
            source.write_text(text)
            target = folder / f"program{len(done)}"
            compiler = {"c": "gcc", "cpp": "g++"}[language]
            command = [compiler, *flags, str(source), "-o", str(target)]
            subprocess.run(command, check=True, timeout=120)
            done[key] = target
        return done[key]

    return compile_text


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep tests away from the user's cache and the system's debug files."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "debug"
    monkeypatch.setattr(debug_files, "DEBUG_FOLDERS", (folder,))
    return folder


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
