"""The processes of a run as reports list them."""

import signal
from collections.abc import Collection, Iterable

from leakline.dynamic.process_log import ProcessLog, Snapshot, chosen_snapshot
from leakline.model.report import HeapMoment, LensState, Process, Run
from leakline.recording._format import OPTIONS, Tracking, Trigger

LENSES = ("reach", "loss", "pages", "accesses")

# What `process_end.status` holds when the runtime cannot know the exit status.
STATUS_UNKNOWN = 0xFFFFFFFF


def describe_run(
    logs: Collection[ProcessLog], not_seen: Iterable[str], remarks: Iterable[str]
) -> Run:
    """The run; its command is that of the first process."""
    first = next(iter(logs), None)
    return Run(
        command=first.command if first is not None else (),
        exit_code=_exit_code(first, logs) if first is not None else None,
        lenses=_lens_states(logs),
        not_seen=tuple(not_seen),
        processes=tuple(describe_process(log) for log in logs),
        remarks=tuple(remarks),
    )


def describe_process(log: ProcessLog) -> Process:
    """One process with the totals of its last look."""
    snapshot = chosen_snapshot(log)
    totals = snapshot.totals if snapshot is not None else None
    if totals is None:
        return Process(log.key.pid, log.command, _ended(log))
    return Process(
        pid=log.key.pid,
        command=log.command,
        ended=_ended(log),
        live_blocks=totals.live_blocks,
        live_bytes=totals.live_bytes,
        allocations=totals.allocations,
        peak_bytes=totals.peak_bytes,
        timeline=_timeline(log),
    )


def _timeline(log: ProcessLog) -> tuple[HeapMoment, ...]:
    """The looks in their order; a copy that looked may have ended late."""
    began = log.start.realtime_ns if log.start is not None else 0
    return tuple(
        HeapMoment(
            at_s=max(0.0, round((moment.realtime_ns - began) / 1e9, 3)),
            live_blocks=moment.live_blocks,
            live_bytes=moment.live_bytes,
            lost_bytes=moment.lost_bytes,
        )
        for moment in sorted(log.moments)
    )


def _ended(log: ProcessLog) -> str:
    if log.execs:
        return "exec"
    if log.end is None:
        return "killed or still running"
    if log.end.trigger == Trigger.SIGNAL:
        return f"signal {log.end.status}{_signal_name(log.end.status)}"
    if log.end.trigger == Trigger.PROGRAM:
        return "unknown: it closed itself off"
    if log.end.status == STATUS_UNKNOWN:
        return "exit"
    return f"exit {log.end.status}"


def _signal_name(number: int) -> str:
    try:
        return f" ({signal.Signals(number).name})"
    except ValueError:
        return ""


def _exit_code(first: ProcessLog, logs: Collection[ProcessLog]) -> int | None:
    """Of the program that was started, which may have become others by exec."""
    last = [log for log in logs if log.key.pid == first.key.pid][-1]
    if last.end is None or last.end.status == STATUS_UNKNOWN:
        return None
    if last.end.trigger == Trigger.SIGNAL:
        return 128 + last.end.status
    return last.end.status


def _lens_states(logs: Collection[ProcessLog]) -> tuple[tuple[str, LensState], ...]:
    asked: set[str] = set()
    for log in logs:
        names = log.options.get("lens", str(OPTIONS["lens"].default))
        asked.update(names.split(","))
    looks = [look for log in logs if (look := chosen_snapshot(log)) is not None]
    return tuple((lens, _state(lens, asked, looks)) for lens in LENSES)


def _state(lens: str, asked: Collection[str], looks: list[Snapshot]) -> LensState:
    if lens not in asked:
        return LensState.OFF
    works = bool(looks) and lens in ("reach", "loss")
    if lens == "accesses":
        works = any(look.sampling is not None for look in looks)
    if lens == "pages":
        works = any(
            look.tracking is not None and look.tracking.state == Tracking.ACTIVE
            for look in looks
        )
    return LensState.ACTIVE if works else LensState.UNAVAILABLE
