"""Places of findings as SARIF's locations, stacks and steps of a code flow."""

from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from leakline.model.finding import Finding, PathStep
from leakline.model.report import Run
from leakline.model.stack import Frame, Stack
from leakline.reports.headlines import frame_to_mend, frame_with_file
from leakline.reports.names import readable_name
from leakline.reports.places import frames_worth_showing, relative_path
from leakline.reports.printable import printable


class Titled(NamedTuple):
    """A stack and what happened there; not all of them happened to this memory."""

    title: str
    stack: Stack
    is_event: bool = True


class Places:
    """Writes the places of one run; each frame's location is made only once."""

    def __init__(self, run: Run, folder: Path) -> None:
        self._program = run.command[0] if run.command else ""
        self._folder = folder
        # Many stacks share their frame objects, by id, for the life of the report.
        self._frames: dict[int, dict[str, Any]] = {}

    def to_mend(self, finding: Finding) -> dict[str, Any]:
        """Where the finding is shown: in a source, else at the file that was run.

        Code hosts refuse a log in which a result has no file.
        """
        if finding.path:
            last = finding.path[-1]
            return self._location(last.file, last.line, last.column)
        frame = frame_to_mend(finding)
        if frame is not None:
            return self._location(frame.file, frame.line, frame.column)
        modules = (one.module for one in finding.allocation.frames if one.module)
        return self._location(next(modules, self._program) or "unknown", 0, 0)

    def related(self, titled: list[Titled]) -> list[dict[str, Any]]:
        """The user's own frame of each stack, with what happened there."""
        found = ((one.title, frame_with_file(one.stack)) for one in titled)
        return [
            {"id": number, **self._frame_location(frame), "message": {"text": title}}
            for number, (title, frame) in enumerate(found, start=1)
            if frame is not None
        ]

    def story(self, titled: list[Titled]) -> list[dict[str, Any]]:
        """The events of a run as steps; their order is not always known."""
        found = ((one.title, frame_with_file(one.stack)) for one in titled if one[2])
        return [
            _step(self._frame_location(frame), title)
            for title, frame in found
            if frame is not None
        ]

    def path(self, path: tuple[PathStep, ...]) -> list[dict[str, Any]]:
        """The steps of a path through the source, in their order."""
        steps = []
        for number, step in enumerate(path, start=1):
            location = self._location(step.file, step.line, step.column)
            written = _step(location, printable(step.event))
            is_end = number in {1, len(path)}
            written["executionOrder"] = number
            written["importance"] = "essential" if is_end else "important"
            steps.append(written)
        return steps

    def stack(self, titled: Titled) -> dict[str, Any]:
        """A call stack; the start-up code is left out."""
        frames = frames_worth_showing(titled.stack)
        return {
            "message": {"text": titled.title},
            "frames": [self._frame(frame) for frame in frames],
        }

    def _frame(self, frame: Frame) -> dict[str, Any]:
        written = self._frames.get(id(frame))
        if written is None:
            written = {"location": self._frame_location(frame)}
            if frame.module:
                written["module"] = printable(frame.module)
            self._frames[id(frame)] = written
        return written

    def _frame_location(self, frame: Frame) -> dict[str, Any]:
        file = frame.file or frame.module
        location = self._location(file, frame.line, frame.column) if file else {}
        name = printable(readable_name(frame.function))
        if name:
            location["logicalLocations"] = [
                {"fullyQualifiedName": name, "kind": "function"}
            ]
        return location

    def _location(self, file: str, line: int, column: int) -> dict[str, Any]:
        place: dict[str, Any] = {"artifactLocation": self._artifact(file)}
        if line:
            place["region"] = {"startLine": line}
            if column:
                place["region"]["startColumn"] = column
        return {"physicalLocation": place}

    def _artifact(self, file: str) -> dict[str, Any]:
        relative = relative_path(file, self._folder)
        uri = quote(relative.removeprefix("./"), errors="surrogateescape")
        if relative.startswith("/"):
            return {"uri": f"file://{uri}"}
        return {"uri": uri, "uriBaseId": "SRCROOT"}


def _step(location: dict[str, Any], event: str) -> dict[str, Any]:
    return {"location": location | {"message": {"text": event}}}
