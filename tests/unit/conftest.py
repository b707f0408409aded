"""Small programs, compiled once, whose addresses the tests name."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from leakline.symbols import debug_files


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
