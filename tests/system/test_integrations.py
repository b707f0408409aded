"""The projects under `examples/`, built and tested as their users do."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from .conftest import LEAKLINE

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
BIN = LEAKLINE.parent
WORKFLOW = EXAMPLES / "inventory/.github/workflows/leaks.yml"


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


def action() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
    return document


def run_action(folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Does what a runner of GitHub does with the step that looks for leaks."""
    document = action()
    values = {name: one["default"] for name, one in document["inputs"].items()}
    values |= inputs
    step = document["runs"]["steps"][1]
    env = {
        name: values[text.removeprefix("${{ inputs.").removesuffix(" }}")]
        for name, text in step["env"].items()
    }
    script = folder / "step.sh"
    script.write_text(step["run"])
    words = ("bash", "--noprofile", "--norc", "-eo", "pipefail", script)
    return call(*words, cwd=folder, GITHUB_OUTPUT=str(folder / "output"), **env)


def test_the_action_annotates_and_writes_sarif(tmp_path: Path) -> None:
    shutil.copy(EXAMPLES / "inventory/inventory.c", tmp_path)
    done("gcc", "-g", "-O1", "inventory.c", "-o", "inventory", cwd=tmp_path)
    workflow = yaml.safe_load(WORKFLOW.read_text())
    steps = workflow["jobs"]["leaks"]["steps"]
    (step,) = (one for one in steps if "LEAKLINE" in one.get("uses", ""))
    result = run_action(tmp_path, **step["with"])
    assert result.returncode == 23, result.stdout + result.stderr
    assert "::error file=inventory.c,line=34" in result.stdout
    sarif = (tmp_path / "output").read_text().strip().removeprefix("sarif=")
    results = json.loads((tmp_path / sarif).read_text())["runs"][0]["results"]
    assert any("confirmed by both" in one["message"]["text"] for one in results)
    known = shutil.copy(tmp_path / "leakline-reports/leaks.json", tmp_path / "known")
    shutil.rmtree(tmp_path / "leakline-reports")
    again = run_action(tmp_path, run="./inventory > out.txt", baseline=str(known))
    assert again.returncode == 0, again.stdout + again.stderr


def test_the_action_passes_on_the_failure_of_a_command(tmp_path: Path) -> None:
    assert run_action(tmp_path, run="exit 7").returncode == 7
    assert run_action(tmp_path, run="true").returncode == 0
