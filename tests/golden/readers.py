"""Readers for the formats we write, by others where there are any."""

import json
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import github_action_utils
import yaml
from junitparser import JUnitXml, TestSuite
from ValgrindCI.parse import ValgrindData

_PAGE_DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>')


def read_valgrind_xml(path: Path) -> ValgrindData:
    data = ValgrindData()
    data.parse(str(path))
    return data


def read_junit(path: Path) -> TestSuite:
    (suite,) = JUnitXml.fromfile(str(path))
    return suite


def read_page(page: str) -> dict[str, Any]:
    """The data that a page for a browser carries."""
    (text,) = _PAGE_DATA.findall(page)
    data: dict[str, Any] = json.loads(text)
    return data


def read_speedscope(path: Path) -> dict[str, Any]:
    """The document, after the checks that speedscope's importer makes."""
    document: dict[str, Any] = json.loads(path.read_text())
    frames = document["shared"]["frames"]
    assert all(isinstance(frame["name"], str) for frame in frames)
    for profile in document["profiles"]:
        assert profile["type"] == "sampled"
        assert profile["unit"] in {"bytes", "none"}
        assert len(profile["samples"]) == len(profile["weights"])
        assert profile["endValue"] - profile["startValue"] == sum(profile["weights"])
        indices = [index for sample in profile["samples"] for index in sample]
        assert all(0 <= index < len(frames) for index in indices)
    return document


def pprof(path: Path, *options: str) -> str:
    """What `go tool pprof` prints of a profile."""
    done = subprocess.run(
        ["go", "tool", "pprof", "-symbolize=none", *options, str(path)],
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


def pprof_total(path: Path, value: str) -> int:
    """The sum of one value over all samples, by pprof's own reckoning."""
    shown = pprof(path, "-top", f"-sample_index={value}", "-unit=B")
    match = re.search(r"of (\d+)B? total", shown)
    assert match, shown
    return int(match[1])


@dataclass(frozen=True)
class Command:
    """A workflow command as GitHub's runner takes it apart."""

    level: str
    properties: dict[str, str]
    message: str


def read_by_act(act: Callable[..., list[Any]], path: Path) -> list[Command]:
    """The commands that act, a runner of workflows, sees when a step prints a file."""
    step = {"run": f"cat {path}"}
    job = {"runs-on": "ubuntu-latest", "steps": [step]}
    workflow = path.parent / ".github/workflows/print.yml"
    workflow.parent.mkdir(parents=True)
    workflow.write_text(yaml.safe_dump({"on": "push", "jobs": {"print": job}}))
    return [
        Command(event["command"], event["kvPairs"], event["arg"])
        for event in act(path.parent)
        if "command" in event
    ]


def read_github(text: str) -> list[Command]:
    """The commands by our own reading, to compare with that of others."""
    return [_command(line) for line in text.splitlines()]


def _command(line: str) -> Command:
    match = re.fullmatch(r"::(\w+) ([^:]*)::(.*)", line)
    assert match, line
    pairs = (pair.split("=", 1) for pair in match[2].split(","))
    properties = {key: _unescaped(value) for key, value in pairs}
    return Command(match[1], properties, _unescaped(match[3]))


def as_others_write(command: Command) -> None:
    """Prints the command by a library that others wrote for it."""
    write = {
        "error": github_action_utils.error,
        "warning": github_action_utils.warning,
        "notice": github_action_utils.notice,
    }[command.level]
    numbers = {
        key: int(command.properties[key])
        for key in ("line", "col")
        if key in command.properties
    }
    texts = {
        key: command.properties[key]
        for key in ("file", "title")
        if key in command.properties
    }
    assert {*numbers, *texts} == {*command.properties}
    write(command.message, **texts, **numbers)  # type: ignore[arg-type]  # by name


def _unescaped(text: str) -> str:
    return re.sub(r"%(0A|0D|3A|2C|25)", lambda m: chr(int(m[1], 16)), text)
