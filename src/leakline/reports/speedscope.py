"""Findings as a speedscope file: per kind one profile of bytes and one of blocks."""

import json
import shlex
from pathlib import Path
from typing import Any

from leakline.model.finding import Kind
from leakline.model.report import Report
from leakline.model.stack import Frame, Stack
from leakline.reports.calls import label, outermost_first
from leakline.reports.places import relative_path
from leakline.reports.printable import printable

SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def render(report: Report, folder: Path) -> str:
    """The whole file, in ASCII."""
    frames = _Frames(folder)
    document = {
        "$schema": SCHEMA,
        "exporter": "leakline",
        "name": printable(shlex.join(report.run.command)),
        "profiles": _profiles(report, frames),
        "shared": {"frames": frames.written},
    }
    return json.dumps(document, indent=1) + "\n"


def _profiles(report: Report, frames: "_Frames") -> list[dict[str, Any]]:
    profiles = []
    for kind in Kind:
        findings = [one for one in report.findings if one.kind is kind]
        if findings:
            samples = [frames.indexes(one.allocation) for one in findings]
            bytes_ = [one.bytes for one in findings]
            blocks = [one.blocks for one in findings]
            profiles.append(_profile(f"{kind.value}: bytes", "bytes", samples, bytes_))
            profiles.append(_profile(f"{kind.value}: blocks", "none", samples, blocks))
    return profiles


def _profile(
    name: str, unit: str, samples: list[list[int]], weights: list[int]
) -> dict[str, Any]:
    return {
        "type": "sampled",
        "name": name,
        "unit": unit,
        "startValue": 0,
        "endValue": sum(weights),
        "samples": samples,
        "weights": weights,
    }


class _Frames:
    """The table of frames that all samples share."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[tuple[str, str, int], int] = {}
        self.written: list[dict[str, Any]] = []

    def indexes(self, stack: Stack) -> list[int]:
        return [self._index(frame) for frame in outermost_first(stack)]

    def _index(self, frame: Frame) -> int:
        file = printable(relative_path(frame.file, self._folder))
        key = (label(frame), file, frame.line)
        index = self._known.setdefault(key, len(self.written))
        if index == len(self.written):
            self.written.append(_frame(*key))
        return index


def _frame(name: str, file: str, line: int) -> dict[str, Any]:
    frame: dict[str, Any] = {"name": name}
    if file:
        frame["file"] = file
    if line:
        frame["line"] = line
    return frame
