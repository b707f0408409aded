"""The projects under `examples/`, built and tested as their users do."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import LEAKLINE

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
BIN = LEAKLINE.parent


def call(*words: str | Path, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Runs a tool with ours first in the PATH."""
    path = f"{BIN}:{os.environ['PATH']}"
    return subprocess.run(
        words,
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
        cwd=cwd,
        env={**os.environ, "PATH": path, **env},
    )


def done(*words: str | Path, cwd: Path) -> str:
    result = call(*words, cwd=cwd)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def ring(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The CMake example, built."""
    folder = tmp_path_factory.mktemp("cmake")
    options = ("-G", "Ninja", "-DCMAKE_BUILD_TYPE=RelWithDebInfo")
    done("cmake", "-S", EXAMPLES / "cmake", "-B", ".", *options, cwd=folder)
    done("cmake", "--build", ".", cwd=folder)
    return folder


def test_ctest_memcheck_takes_leakline_for_valgrind(ring: Path) -> None:
    result = call("ctest", "-T", "memcheck", cwd=ring)
    assert "MemCheck: #2: resizes" in result.stdout, result.stdout + result.stderr
    assert "Memory Leak - 2" in result.stdout
    assert "MemCheck: #1" not in result.stdout
    log = (ring / "Testing/Temporary/MemoryChecker.2.log").read_text()
    assert "blocks are definitely lost in loss record" in log
    assert "ring_add (ring.c:22)" in log


def test_the_cmake_module_adds_tests_that_fail_for_leaks(ring: Path) -> None:
    result = call("ctest", "--output-on-failure", "-R", "without_leaks", cwd=ring)
    assert "1 tests failed out of 2" in result.stdout, result.stdout + result.stderr
    assert "container-freed" in result.stdout
    assert "ring_resize" in result.stdout


def test_the_cmake_module_adds_a_check_of_the_sources(ring: Path) -> None:
    shown = done("cmake", "--build", ".", "--target", "leaks", cwd=ring)
    assert "Checked 2 units" in shown


@pytest.mark.parametrize(
    "options", [("--setup", "leaks"), ("--wrapper", "leakline run --")]
)
def test_meson_fails_for_leaks(tmp_path: Path, options: tuple[str, str]) -> None:
    done("meson", "setup", tmp_path, EXAMPLES / "meson", cwd=tmp_path)
    done("meson", "test", "-C", tmp_path, cwd=tmp_path)
    result = call("meson", "test", "-C", tmp_path, *options, cwd=tmp_path)
    assert result.returncode == 1, result.stdout + result.stderr
    assert "words:counts OK" in " ".join(result.stdout.split())
    assert "exit status 23" in result.stdout
    logs = (tmp_path / "meson-logs").glob("testlog-*.txt")
    assert any("words_of" in log.read_text() for log in logs)


@pytest.fixture(scope="module")
def extension(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example of an extension module, built by setuptools."""
    folder = tmp_path_factory.mktemp("extension")
    shutil.copytree(EXAMPLES / "extension", folder, dirs_exist_ok=True)
    build = "from setuptools import setup; setup()"
    words = ("-c", build, "-q", "build_ext", "--inplace")
    done(sys.executable, *words, cwd=folder)
    return folder


def test_pytest_says_which_test_lost_memory(extension: Path) -> None:
    result = call("pytest", "--leakline", "-p", "no:cacheprovider", cwd=extension)
    assert result.returncode == 1, result.stdout + result.stderr
    assert "1 failed, 2 passed" in result.stdout
    assert "FAILED test_reverse.py::test_palindromes_stay" in result.stdout
    assert "lost 5 bytes in 1 block, more than the limit of 0 bytes" in result.stdout
    summary = result.stdout.partition("= Leakline =")[2]
    assert "test_a_known_leak_is_tolerated lost 5 bytes in 1 block" in summary
    assert "allocated by reversed at reverse.c:8" in summary
    assert "test_text_is_reversed" not in summary


def test_each_worker_of_xdist_looks_at_its_own_heap(extension: Path) -> None:
    words = ("pytest", "--leakline", "-n", "2", "-p", "no:cacheprovider")
    result = call(*words, "test_reverse.py", cwd=extension)
    assert "1 failed, 2 passed" in result.stdout, result.stdout + result.stderr
    assert "FAILED test_reverse.py::test_palindromes_stay" in result.stdout
    summary = result.stdout.partition("= Leakline =")[2]
    assert "test_a_known_leak_is_tolerated lost 5 bytes in 1 block" in summary
    assert "test_palindromes_stay lost 5 bytes in 1 block" in summary
    assert "test_text_is_reversed" not in summary


def test_one_limit_holds_for_tests_without_a_marker(extension: Path) -> None:
    (extension / "test_plain.py").write_text(
        "from reverse import reverse\n\n\ndef test_plain():\n    reverse('aa')\n"
    )
    words = ("pytest", "--leakline", "-p", "no:cacheprovider", "test_plain.py")
    assert call(*words, cwd=extension).returncode == 0
    result = call(*words, "--leak-limit", "2 B", cwd=extension)
    assert "lost 3 bytes in 1 block, more than the limit of 2 bytes" in result.stdout
    refused = call(*words, "--leak-limit", "lots", cwd=extension)
    assert "'lots' is no size" in refused.stderr


def test_without_the_option_the_plugin_does_nothing(extension: Path) -> None:
    shown = done("pytest", "-p", "no:cacheprovider", "test_reverse.py", cwd=extension)
    assert "3 passed" in shown
    assert "Leakline" not in shown


def test_the_pre_commit_hook_stops_a_leak(tmp_path: Path) -> None:
    hooks = tmp_path / "hooks"
    project = tmp_path / "project"
    for folder in (hooks, project):
        folder.mkdir()
        done("git", "init", "-q", ".", cwd=folder)
    shutil.copy(ROOT / ".pre-commit-hooks.yaml", hooks)
    identity = ("-c", "user.name=x", "-c", "user.email=x@example.com")
    done("git", "add", ".", cwd=hooks)
    done("git", *identity, "commit", "-qm", "hooks", cwd=hooks)
    shutil.copy(EXAMPLES / "inventory/inventory.c", project)
    done("git", "add", ".", cwd=project)
    text = (EXAMPLES / "inventory/.pre-commit-config.yaml").read_text()
    tag = done("git", "rev-parse", "HEAD", cwd=hooks).strip()
    text = text.replace("LEAKLINE_REPOSITORY", str(hooks))
    (project / ".pre-commit-config.yaml").write_text(text.replace("LEAKLINE_TAG", tag))
    words = ("pre-commit", "run", "--all-files")
    result = call(*words, cwd=project, PRE_COMMIT_HOME=str(tmp_path / "home"))
    assert result.returncode == 1, result.stdout + result.stderr
    assert "inventory.c:34:9: leak: 64 bytes" in result.stdout
    (project / "inventory.c").write_text("int main(void) { return 0; }\n")
    done("git", "add", ".", cwd=project)
    result = call(*words, cwd=project, PRE_COMMIT_HOME=str(tmp_path / "home"))
    assert result.returncode == 0, result.stdout + result.stderr
