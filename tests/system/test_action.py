"""The GitHub Action: its steps, run as a runner of GitHub runs them."""

import json
import os
import re
import shutil
import subprocess
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from .conftest import LEAKLINE

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/inventory"
WORKFLOW = EXAMPLE / ".github/workflows/leaks.yml"
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
# A package whose only command is a way to the Leakline that is tested.
WHEEL = "probe-1.0-py3-none-any.whl"
PROBE = {
    "probe.py": f"""\
import os, sys

def main():
    os.execv({str(LEAKLINE)!r}, ["leakline", *sys.argv[1:]])
""",
    "probe-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: probe\nVersion: 1.0\n",
    "probe-1.0.dist-info/WHEEL": (
        "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    ),
    "probe-1.0.dist-info/entry_points.txt": "[console_scripts]\nleakline = probe:main\n",
    "probe-1.0.dist-info/RECORD": "",
}


@dataclass
class Runner:
    """What GitHub's runner does with the steps of a composite action."""

    folder: Path
    path: str = os.environ["PATH"]
    outputs: dict[str, str] = field(default_factory=dict)

    def run(self, **inputs: str) -> subprocess.CompletedProcess[str]:
        """Run the steps up to the first that fails; return the last."""
        values = {name: one["default"] for name, one in ACTION["inputs"].items()}
        for step in ACTION["runs"]["steps"]:
            if is_wanted(step, values | inputs):
                done = self._step(step, values | inputs)
                if done.returncode:
                    break
        return done

    def _step(
        self, step: dict[str, Any], inputs: dict[str, str]
    ) -> subprocess.CompletedProcess[str]:
        files = {
            name: self.folder / f".{name}" for name in ("GITHUB_PATH", "GITHUB_OUTPUT")
        }
        for file in files.values():
            file.write_text("")
        script = self.folder / ".step.sh"
        script.write_text(step["run"])
        done = subprocess.run(
            [step["shell"], "--noprofile", "--norc", "-eo", "pipefail", script],
            check=False,
            capture_output=True,
            text=True,
            timeout=300,
            cwd=self.folder,
            env={
                **os.environ,
                **{name: str(file) for name, file in files.items()},
                "PATH": self.path,
                "GITHUB_ACTION_PATH": str(ROOT),
                "RUNNER_TEMP": str(self.folder / ".temporary"),
                **{name: expanded(text, inputs) for name, text in step["env"].items()},
            },
        )
        for line in files["GITHUB_PATH"].read_text().splitlines():
            self.path = f"{line}:{self.path}"
        for line in files["GITHUB_OUTPUT"].read_text().splitlines():
            name, _, value = line.partition("=")
            self.outputs[name] = value
        return done


def is_wanted(step: dict[str, Any], inputs: dict[str, str]) -> bool:
    condition = step.get("if")
    if condition is None:
        return True
    match = re.fullmatch(r"inputs\.(\w+) != ''", condition)
    assert match, condition
    return inputs[match[1]] != ""


def expanded(text: str, inputs: dict[str, str]) -> str:
    return re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda match: inputs[match[1]], text)


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path)


@pytest.fixture
def installed(runner: Runner) -> Runner:
    """A runner on which Leakline is in the PATH already."""
    runner.path = f"{LEAKLINE.parent}:{runner.path}"
    return runner


@pytest.fixture
def project(tmp_path: Path) -> None:
    """The example, built where the runner works."""
    shutil.copy(EXAMPLE / "inventory.c", tmp_path)
    command = ["gcc", "-g", "-O1", "inventory.c", "-o", "inventory"]
    subprocess.run(command, check=True, cwd=tmp_path)


@pytest.mark.usefixtures("project")
def test_the_workflow_installs_annotates_and_writes_sarif(runner: Runner) -> None:
    with zipfile.ZipFile(runner.folder / WHEEL, "w") as wheel:
        for name, text in PROBE.items():
            wheel.writestr(name, text)
    (step,) = (
        one
        for one in yaml.safe_load(WORKFLOW.read_text())["jobs"]["leaks"]["steps"]
        if "LEAKLINE" in one.get("uses", "")
    )
    result = runner.run(**step["with"], install=f"./{WHEEL}")
    assert result.returncode == 23, result.stdout + result.stderr
    assert runner.path.startswith(f"{runner.folder}/.temporary/leakline/bin:")
    assert "::error file=inventory.c,line=34" in result.stdout
    sarif = json.loads((runner.folder / runner.outputs["sarif"]).read_text())
    messages = [one["message"]["text"] for one in sarif["runs"][0]["results"]]
    assert any("confirmed by both" in message for message in messages)


@pytest.mark.usefixtures("project")
def test_known_leaks_do_not_fail(installed: Runner) -> None:
    command = {"run": "./inventory > out.txt", "install": ""}
    assert installed.run(**command).returncode == 23
    reports = installed.folder / "leakline-reports"
    known = reports.rename(installed.folder / "known") / "leaks.json"
    again = installed.run(**command, baseline=str(known))
    assert again.returncode == 0, again.stdout + again.stderr


def test_the_failure_of_a_command_is_passed_on(installed: Runner) -> None:
    assert installed.run(run="exit 7", install="").returncode == 7
    assert installed.run(run="true", install="").returncode == 0


def test_without_a_word_its_own_version_is_installed(runner: Runner) -> None:
    """The commands that install are replaced by one that writes down its words."""
    tools = runner.folder / "tools"
    tools.mkdir()
    note = f'#!/bin/sh\necho "$(basename "$0") $*" >> {runner.folder}/noted\n'
    pip = runner.folder / ".temporary/leakline/bin/pip"
    pip.parent.mkdir(parents=True)
    for file in (tools / "python3", tools / "dpkg-query", pip):
        file.write_text(note)
        file.chmod(0o755)
    (tools / "dpkg-query").write_text("#!/bin/sh\necho ok installed\n")
    runner.path = f"{tools}:/usr/bin:/bin"
    assert runner.run(run="true").returncode == 127  # no Leakline was installed
    assert (runner.folder / "noted").read_text().splitlines() == [
        f"python3 -m venv {runner.folder}/.temporary/leakline",
        f"pip install --quiet {ROOT}[static]",
    ]
