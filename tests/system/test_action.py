"""The GitHub Action, run by act: a runner of workflows that others wrote."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from .conftest import LEAKLINE

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/inventory"
WORKFLOW = EXAMPLE / ".github/workflows/leaks.yml"
# Stands for the action that uploads, which needs GitHub: it says what it was given.
UPLOAD = {
    "name": "Upload",
    "description": "Says what it was given",
    "inputs": {"sarif_file": {"description": "A SARIF log", "required": True}},
    "runs": {
        "using": "composite",
        "steps": [
            {"shell": "bash", "run": 'echo "::notice::${{ inputs.sarif_file }}"'},
            {"shell": "bash", "run": 'cp "${{ inputs.sarif_file }}" "$UPLOADED"'},
        ],
    },
}
# What pip needs of the tree to build the package.
PACKAGE = ("CMakeLists.txt", "LICENSE", "README.md", "native", "pyproject.toml", "src")
CACHE = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser()
# The runtime without the checker's plugin, and not optimised, is built in seconds.
QUICK_BUILD = {
    "LEAKLINE_PASS": "OFF",
    "SKBUILD_CMAKE_BUILD_TYPE": "Debug",
    "PIP_CACHE_DIR": str(CACHE / "pip"),
    "PIP_NO_COMPILE": "1",
}


@dataclass(frozen=True)
class Job:
    """What act logged of the only job of a workflow."""

    events: list[Any]

    @property
    def succeeded(self) -> bool:
        (result,) = (one["jobResult"] for one in self.events if "jobResult" in one)
        return bool(result == "success")

    @property
    def exit_statuses(self) -> set[str]:
        said = (one["msg"] for one in self.events)
        return {text for text in said if text.startswith("exit status")}

    def commands(self, name: str) -> list[Any]:
        return [one for one in self.events if one.get("command") == name]

    def __str__(self) -> str:
        return "".join(one["msg"] for one in self.events)


@dataclass(frozen=True)
class Project:
    """The example with its workflow, and the actions that the workflow uses."""

    folder: Path
    actions: Path
    act: Callable[..., list[Any]]

    def run(self, **inputs: str) -> Job:
        """Run the workflow, with these inputs of the action in place of its own."""
        document = yaml.safe_load(WORKFLOW.read_text().replace("\non:", '\n"on":'))
        (step,) = (
            one
            for one in document["jobs"]["leaks"]["steps"]
            if "LEAKLINE" in one.get("uses", "")
        )
        step["uses"] = "someone/leakline@v1"
        step["with"] = {**step["with"], **inputs}
        workflow = self.folder / ".github/workflows/leaks.yml"
        workflow.write_text(yaml.safe_dump(document))
        events = self.act(
            self.folder,
            f"--local-repository=someone/leakline@v1={self.actions}/leakline",
            f"--local-repository=github/codeql-action@v3={self.actions}/codeql",
            UPLOADED=str(self.uploaded),
            **QUICK_BUILD,
        )
        return Job(events)

    @property
    def uploaded(self) -> Path:
        return self.actions / "uploaded"


@pytest.fixture
def project(tmp_path: Path, act: Callable[..., list[Any]]) -> Project:
    folder = tmp_path / "project"
    (folder / ".github/workflows").mkdir(parents=True)
    shutil.copy(EXAMPLE / "inventory.c", folder)
    upload = tmp_path / "codeql/upload-sarif"
    upload.mkdir(parents=True)
    (upload / "action.yml").write_text(yaml.safe_dump(UPLOAD))
    (tmp_path / "leakline").mkdir()
    shutil.copy(ROOT / "action.yml", tmp_path / "leakline")
    return Project(folder, tmp_path, act)


@pytest.fixture
def installed(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """The project where Leakline is in the PATH already."""
    monkeypatch.setenv("PATH", f"{LEAKLINE.parent}:{os.environ['PATH']}")
    return project


def test_the_action_builds_and_installs_itself(project: Project) -> None:
    for name in (*PACKAGE, "tools"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, project.actions / "leakline" / name)
    job = project.run(run="command -v leakline; ./inventory > out.txt", check="")
    assert job.exit_statuses == {"exit status 23"}, job
    (found,) = (one["msg"] for one in job.events if "/bin/leakline\n" in one["msg"])
    assert Path(found.strip()) != LEAKLINE
    assert {one["kvPairs"]["title"] for one in job.commands("error")} == {
        "Leakline: lost",
        "Leakline: indirectly lost",
    }


def test_the_workflow_checks_runs_annotates_and_uploads(installed: Project) -> None:
    job = installed.run(install="")
    assert not job.succeeded
    assert job.exit_statuses == {"exit status 23"}, job
    places = [one["kvPairs"] for one in job.commands("error")]
    lines = [place["line"] for place in places if place["file"] == "inventory.c"]
    assert "34" in lines
    (given,) = job.commands("notice")
    assert given["arg"] == "leakline-reports/leaks.sarif"
    sarif = json.loads(installed.uploaded.read_text())
    messages = [one["message"]["text"] for one in sarif["runs"][0]["results"]]
    assert any("confirmed by both" in message for message in messages)


def test_known_leaks_do_not_fail(installed: Project) -> None:
    words = ["gcc", "-g", "-O1", "inventory.c", "-o", "inventory"]
    subprocess.run(words, check=True, cwd=installed.folder)
    run = [str(LEAKLINE), "run", "--format", "json", "--report-file", "known.json"]
    subprocess.run(
        [*run, "--", "./inventory"],
        check=False,
        cwd=installed.folder,
        stdout=subprocess.DEVNULL,
    )
    job = installed.run(install="", check="", baseline="known.json")
    assert job.succeeded, job
    assert not job.commands("error")


def test_the_failure_of_a_command_is_passed_on(installed: Project) -> None:
    job = installed.run(install="", check="", run="exit 7")
    assert job.exit_statuses == {"exit status 7"}, job
