"""Reads a JSON report back into the model, whoever wrote the file.

Keys that later versions add are passed over; a value of another type than the schema
says makes the file foreign.
"""

import json
from dataclasses import replace

from leakline.errors import RecordingError
from leakline.model.finding import (
    Cause,
    Confidence,
    Engine,
    Fate,
    Finding,
    Handover,
    Kind,
    Loss,
    OtherPaths,
    PathStep,
    Precision,
    Reference,
    Staleness,
    StalePoint,
)
from leakline.model.report import (
    Comparison,
    Coverage,
    Growth,
    HeapMoment,
    LensState,
    Process,
    Report,
    Run,
)
from leakline.model.stack import Frame, Naming, Stack
from leakline.reports.json_ import SCHEMA
from leakline.reports.json_values import ForeignError, JsonObject, choice, refuse


def read_report(content: bytes, name: str) -> Report:
    """The report in a file's content; `name` is for the error.

    Raises:
        RecordingError: The content is no JSON report that can be read.
    """
    try:
        document = JsonObject(json.loads(content), "the report")
        if document.text("schema") != SCHEMA:
            refuse(f"its schema is not {SCHEMA}")
        return _Reader().report(document)
    except RecursionError:
        why = "it is nested too deeply"
    except ValueError:
        why = "it is no complete JSON document"
    except ForeignError as error:
        why = str(error)
    raise RecordingError(
        f"{name} is not a JSON report of Leakline: {why}; make one with "
        "`leakline run --format json --report-file FILE`"
    )


class _Reader:
    def __init__(self) -> None:
        self._frames: dict[tuple[object, ...], Frame] = {}

    def report(self, document: JsonObject) -> Report:
        findings = document.many("findings", self._finding)
        return Report(
            run=document.one("run", _run),
            findings=findings,
            unused_suppressions=document.texts("unused_suppressions"),
            hidden=_not_listed(document, findings),
            comparison=document.optional("comparison", self._comparison),
        )

    def _comparison(self, value: JsonObject) -> Comparison:
        known = value.many("known", self._finding)
        now = {finding.id: finding for finding in known}
        grown = value.many("grown", lambda one: _growth(one, now))
        return Comparison(
            value.text("baseline"), known, grown, value.many("gone", self._finding)
        )

    def _finding(self, value: JsonObject) -> Finding:
        return Finding(
            id=value.text("id"),
            engines=value.choices("engines", Engine),
            kind=value.choice("kind", Kind),
            confidence=value.choice("confidence", Confidence),
            blocks=value.count("blocks"),
            bytes=value.count("bytes"),
            allocation=value.one("allocation", self._stack),
            indirect_blocks=value.count("indirect_blocks"),
            indirect_bytes=value.count("indirect_bytes"),
            leader=value.optional("leader", self._stack),
            birth=value.optional("birth", self._stack),
            loss=value.optional("loss", self._loss),
            last_access=value.optional("last_access", self._stack),
            references=value.many("references", self._reference),
            used_before=value.many("used_before", self._stack),
            sibling_frees=value.many("sibling_frees", self._stack),
            staleness=value.optional("staleness", _staleness),
            drag_byte_s=value.number("drag_byte_s"),
            stale_curve=value.many("stale_curve", _stale_point),
            path=value.many("path", _step),
            handovers=value.many("handovers", _handover),
            other_paths=value.optional("other_paths", self._other_paths),
            # Reports of earlier versions have no such member.
            release=value.optional_text("release") or "",
            processes=value.counts("processes"),
            notes=value.texts("notes"),
            advice=value.text("advice"),
            other_ids=value.texts("other_ids"),
        )

    def _reference(self, value: JsonObject) -> Reference:
        return Reference(
            value.optional_text("slot"),
            value.count("slots"),
            value.count("offset"),
            value.optional("holder", self._stack),
            value.optional("birth", self._stack),
        )

    def _loss(self, value: JsonObject) -> Loss:
        return Loss(
            value.choice("cause", Cause),
            self._stack(value),
            value.optional_text("slot"),
            # Reports of earlier versions do not say.
            choice(value.optional_text("precision") or "exact", "precision", Precision),
            value.optional_flag("variables_seen"),
        )

    def _other_paths(self, value: JsonObject) -> OtherPaths:
        return OtherPaths(
            value.flag("on_every_path"), value.many("released", self._frame)
        )

    def _stack(self, value: JsonObject) -> Stack:
        return Stack(
            frames=value.many("frames", self._frame),
            folded_at=value.optional_count("folded_at"),
            stopped=value.text("stopped"),
        )

    def _frame(self, value: JsonObject) -> Frame:
        """Frames that are alike are one object, as in a report that was just made."""
        members = value.plain_members()
        frame = self._frames.get(members)
        if frame is None:
            frame = self._frames[members] = _new_frame(value)
        return frame


def _not_listed(
    document: JsonObject, findings: tuple[Finding, ...]
) -> tuple[Finding, ...]:
    """Per kind, what the totals count beyond the findings that are listed."""
    rest = []
    for name, value in document.pairs("totals"):
        kind, total = choice(name, "totals", Kind), JsonObject(value, "totals")
        listed = [one for one in findings if one.kind is kind]
        blocks = total.count("blocks") - sum(one.blocks for one in listed)
        size = total.count("bytes") - sum(one.bytes for one in listed)
        if blocks > 0:
            rest.append(_total(kind, blocks, max(size, 0)))
    return tuple(rest)


def _total(kind: Kind, blocks: int, size: int) -> Finding:
    return Finding(
        id=f"all-{kind.value.replace(' ', '-')}",
        engines=(Engine.REACH,),
        kind=kind,
        confidence=Confidence.EXACT,
        blocks=blocks,
        bytes=size,
        allocation=Stack(),
    )


def _growth(value: JsonObject, now: dict[str, Finding]) -> Growth:
    finding = now.get(value.text("id"))
    if finding is None:
        refuse("a finding has grown that is not known")
    blocks, size = value.count("blocks_before"), value.count("bytes_before")
    return Growth(replace(finding, blocks=blocks, bytes=size), finding)


def _run(value: JsonObject) -> Run:
    return Run(
        command=value.texts("command"),
        exit_code=value.optional_count("exit_code"),
        lenses=tuple(
            (name, choice(state, "lenses", LensState))
            for name, state in value.pairs("lenses")
        ),
        not_seen=value.texts("not_seen"),
        processes=value.many("processes", _process),
        coverage=value.optional("coverage", _coverage),
        remarks=value.texts("remarks"),
    )


def _coverage(value: JsonObject) -> Coverage:
    return Coverage(
        units=value.count("units"),
        units_failed=value.count("units_failed"),
        functions=value.count("functions"),
        incomplete=value.texts("incomplete"),
    )


def _process(value: JsonObject) -> Process:
    return Process(
        pid=value.count("pid"),
        command=value.texts("command"),
        ended=value.text("ended"),
        live_blocks=value.count("live_blocks"),
        live_bytes=value.count("live_bytes"),
        allocations=value.count("allocations"),
        peak_bytes=value.count("peak_bytes"),
        timeline=value.many("timeline", _moment),
    )


def _moment(value: JsonObject) -> HeapMoment:
    return HeapMoment(
        at_s=value.number("at_s") or 0.0,
        live_blocks=value.count("live_blocks"),
        live_bytes=value.count("live_bytes"),
        lost_bytes=value.count("lost_bytes"),
    )


def _stale_point(value: JsonObject) -> StalePoint:
    return StalePoint(value.number("stale_s") or 0.0, value.count("blocks"))


def _staleness(value: JsonObject) -> Staleness:
    return Staleness(value.number("lower_s"), value.number("upper_s"))


def _handover(value: JsonObject) -> Handover:
    otherwise = value.optional_text("otherwise")
    return Handover(
        value.text("function"),
        value.text("file"),
        value.count("line"),
        value.choice("fate", Fate),
        None if otherwise is None else choice(otherwise, "otherwise", Fate),
    )


def _step(value: JsonObject) -> PathStep:
    return PathStep(
        value.text("file"),
        value.count("line"),
        value.text("event"),
        value.count("column"),
    )


def _new_frame(value: JsonObject) -> Frame:
    return Frame(
        function=value.text("function"),
        file=value.text("file"),
        line=value.count("line"),
        module=value.text("module"),
        offset=value.count("offset"),
        inlined=value.flag("inlined"),
        naming=value.choice("naming", Naming),
        column=value.count("column"),
        symbol=value.text("symbol"),
    )
