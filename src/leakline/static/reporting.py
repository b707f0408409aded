"""From confirmed defects to the findings that reports show."""

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from leakline.model.finding import (
    Cause,
    Confidence,
    Engine,
    Finding,
    Handover,
    Kind,
    Loss,
    OtherPaths,
    PathStep,
)
from leakline.model.stack import Frame, Stack
from leakline.static.engine.defects import Brought, Defect, Step
from leakline.static.engine.summary import Place
from leakline.static.partners import Releasers
from leakline.static.program import Program

if TYPE_CHECKING:
    from leakline.static.facts import Body

# All but the last name of a place.
_MEMBER = re.compile(r".*(?:->|\.)")
_RELEASES = {"operator.delete": "delete", "operator.delete.array": "delete[]"}


class Reporter:
    """Makes findings, with places resolved to files and lines."""

    def __init__(self, program: Program, releasers: Releasers) -> None:
        self._program = program
        self._releasers = releasers
        self._bodies: dict[str, Body] = {}
        self._here = Path.cwd()

    def findings(
        self, defects: Iterable[tuple[Defect, Brought | None]]
    ) -> tuple[Finding, ...]:
        """One finding for what one change mends, in the order of the source."""
        groups: list[list[tuple[Defect, Brought | None]]] = []
        known: dict[object, int] = {}
        for item in sorted(defects, key=lambda item: self._sort_key(item[0])):
            keys = _group_keys(item[0])
            place = next((known[key] for key in keys if key in known), len(groups))
            if place == len(groups):
                groups.append([])
            groups[place].append(item)
            for key in keys:
                known.setdefault(key, place)
        found = [self._finding(*group[0], _also(self, group)) for group in groups]
        return _with_fingerprints(found)

    def _sort_key(self, defect: Defect) -> tuple[str, int, int, str]:
        place = defect.ending.place if defect.ending else defect.place
        frame = self.frame(place)
        return frame.file, frame.line, frame.column, defect.identity

    def _finding(
        self, defect: Defect, brought: Brought | None, notes: tuple[str, ...]
    ) -> Finding:
        allocation = defect.allocation
        places = () if allocation is None else allocation.places
        return Finding(
            id="",
            engines=(Engine.STATIC,),
            kind=defect.kind,
            confidence=Confidence.LIKELY,
            blocks=1,
            bytes=0 if allocation is None else allocation.size_bytes,
            allocation=Stack(tuple(self.frame(place) for place in places)),
            loss=self._loss(defect),
            path=self._path(defect, brought),
            handovers=tuple(self._handovers(defect)),
            release=self._release(defect),
            other_paths=self._other_paths(defect),
            notes=notes + _conditions(defect),
            advice=self._advice(defect),
        )

    def _loss(self, defect: Defect) -> Loss | None:
        ending = defect.ending
        if ending is None:
            return None
        return Loss(ending.cause, Stack((self.frame(ending.place),)), ending.slot)

    def _path(self, defect: Defect, brought: Brought | None) -> tuple[PathStep, ...]:
        steps: tuple[Step, ...] = defect.steps
        if brought is not None:
            steps = brought.steps + steps
        return tuple(self._step(step) for step in steps)

    def _step(self, step: Step) -> PathStep:
        frame = self.frame(step.place)
        return PathStep(frame.file, frame.line, step.text, frame.column)

    def _handovers(self, defect: Defect) -> Iterator[Handover]:
        for item in defect.handings:
            frame = self.frame(item.place)
            yield Handover(
                item.callee, frame.file, frame.line, item.fate, item.otherwise
            )

    def _other_paths(self, defect: Defect) -> OtherPaths | None:
        seen = defect.other_paths
        if seen is None or defect.ending is None:
            return None
        return OtherPaths(seen.on_every_path, tuple(map(self.frame, seen.released)))

    def _release(self, defect: Defect) -> str:
        if defect.allocation is None:
            return ""
        family = defect.allocation.family
        own = self._releasers.of(defect.allocation)
        return own or _RELEASES.get(family, family)

    def _advice(self, defect: Defect) -> str:
        ending, allocation = defect.ending, defect.allocation
        if ending is None or allocation is None:
            return ""
        family = self._release(defect) or "its owner"
        name = defect.holder or "the result"
        line = self.frame(ending.place).line
        if ending.cause is Cause.NEVER_STORED:
            return f"Keep the result and release it with `{family}`."
        return f"Release `{name}` with `{family}` before line {line}."

    def frame(self, place: Place) -> Frame:
        """The frame of a place."""
        entry = self._program.functions[place.function]
        body = self._bodies.get(place.function)
        if body is None:
            body = self._bodies[place.function] = entry.function.body()
        unit = self._program.units[entry.unit]
        location = unit.location(entry.function, body, place.location)
        return Frame(
            function=entry.function.display,
            file=self._relative(location.file),
            line=location.line,
            column=location.column,
        )

    def _relative(self, path: str) -> str:
        folder = str(self._here) + os.sep
        return path.removeprefix(folder)


def _group_keys(defect: Defect) -> list[object]:
    """Leaks are one when the object comes from one place, or one slot loses it.

    What a global variable loses is one leak, whoever calls the function that sets it,
    and so is what a member loses that one function sets again.
    """
    if defect.allocation is None or defect.kind is not Kind.LOST:
        return [defect.identity]
    keys: list[object] = [(defect.kind, defect.allocation.places)]
    if defect.ending is not None and defect.ending.slot:
        keys.append((defect.ending.place, defect.ending.slot))
        if defect.ending.is_global:
            keys.append((defect.allocation.places[0], defect.ending.slot))
        *inner, _ = defect.allocation.places
        if inner and defect.ending.is_by_callee:
            keys.append((*inner[:2], _MEMBER.sub("", defect.ending.slot)))
    return keys


def _also(
    reporter: Reporter, group: list[tuple[Defect, Brought | None]]
) -> tuple[str, ...]:
    lines = {
        (frame.file, frame.line)
        for defect, _ in group[1:]
        if defect.ending is not None
        for frame in (reporter.frame(defect.ending.place),)
    }
    first = group[0][0].ending
    if first is not None:
        frame = reporter.frame(first.place)
        lines.discard((frame.file, frame.line))
    return tuple(f"Also lost at {file}:{line}." for file, line in sorted(lines))


def _conditions(defect: Defect) -> tuple[str, ...]:
    if not defect.when:
        return ()
    return (f"This happens when {' and '.join(defect.when[:4])}.",)


def _with_fingerprints(findings: list[Finding]) -> tuple[Finding, ...]:
    """Ids made of names, not lines; equal ones are counted in the order of lines."""
    seen: dict[str, int] = {}
    named = []
    for finding in findings:
        text = _content(finding)
        number = seen[text] = seen.get(text, 0) + 1
        identity = hashlib.blake2b(f"{text}#{number}".encode(), digest_size=8)
        named.append(replace(finding, id=identity.hexdigest()))
    return tuple(named)


def _content(finding: Finding) -> str:
    frames = finding.allocation.frames
    names = [f"{Path(frame.file).name}:{frame.function}" for frame in frames]
    loss = finding.loss
    lost = [] if loss is None else [loss.cause.value, loss.slot or ""]
    where = [frame.function for frame in loss.stack.frames] if loss else []
    if loss is None and finding.path:
        where = [Path(finding.path[-1].file).name]
    return "\n".join([finding.kind.value, *names, "|", *lost, *where])
