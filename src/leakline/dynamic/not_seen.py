"""Says what a report does not show, sentence by sentence."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator

from leakline.dynamic.bad_frees import bad_frees
from leakline.dynamic.children import unseen_children
from leakline.dynamic.process_log import ProcessLog, decode_text, last_seen_ns
from leakline.model.finding import Finding
from leakline.recording._format import NotSeen, NotSeenRecord, Origin
from leakline.recording.chunks import Damage
from leakline.symbols.units import plain_units

# Sentences of one sort; a run may have thousands of processes.
LISTED = 10


def not_seen(
    logs: Collection[ProcessLog], damage: Damage, asked_pid: int | None = None
) -> Iterator[str]:
    """What the recording lacks, most important first.

    A process that was asked for by its id may well go on running.
    """
    if not logs and asked_pid is None:
        yield "No process wrote into the recording: nothing was watched."
    if not logs and asked_pid is not None:
        yield f"Process {asked_pid} wrote nothing into the recording."
    endless = (log for log in logs if asked_pid is None or log.latest is None)
    yield from _listed([text for log in endless for text in _about_end(log)])
    yield from _listed([text for log in logs for text in _about_looks(log)])
    yield from _about_plans(logs)
    yield from _about_search_limits(logs)
    yield from _about_plain_units(logs)
    yield from unseen_children(logs)
    yield from _about_damage(damage)


def _listed(sentences: list[str]) -> Iterator[str]:
    """Some sentences; how many more there are when there are many."""
    yield from sentences[:LISTED]
    if len(sentences) > LISTED:
        yield f"The same or the like holds {len(sentences) - LISTED} more times."


def _about_end(log: ProcessLog) -> Iterator[str]:
    if log.end is not None or log.execs:
        return
    known = (
        "nothing is known about its heap"
        if log.latest is None
        else "its last complete look at the heap counts"
    )
    yield f"{_subject(log)} has no end (killed, or still running): {known}."


def _about_looks(log: ProcessLog) -> Iterator[str]:
    if log.end is not None and log.latest is None and _should_have_looked(log):
        yield f"{_subject(log)} ended without a complete look at its heap."
    if log.latest is None and log.unfinished:
        yield f"The findings of {log.name} are incomplete: its look was cut short."
    sentences = Counter(
        decode_text(record.text)
        for record in log.not_seen
        if not _is_unplanned(record) and record.reason != NotSeen.FREES
    )
    for sentence, count in sentences.items():
        times = f" ({count} times)" if count > 1 else ""
        yield f"{_subject(log)}: {sentence.rstrip('.')}{times}."
    frees = [
        decode_text(record.text)
        for record in log.not_seen
        if record.reason == NotSeen.FREES
    ]
    for sentence in bad_frees(frees, last_seen_ns(log)):
        yield f"{_subject(log)}: {sentence}."


def _about_plain_units(logs: Collection[ProcessLog]) -> Iterator[str]:
    """Code beside that of `leakline cc`: its module is not patched."""
    modules = (module for log in logs for module in log.modules.values())
    paths = {decode_text(module.text[module.build_id_length :]) for module in modules}
    paths.update(log.command[0] for log in logs if log.command)
    for path in sorted(paths):
        units = plain_units(path)
        if units:
            listed = ", ".join(units[:LISTED])
            more = f" and {len(units) - LISTED} more" if len(units) > LISTED else ""
            yield (
                f"{path}: {listed}{more} compiled without leakline cc: what is lost "
                "there has an older place, or none."
            )


# The detail of a note about code that has no patch plan yet.
_NO_PLAN = 1
_LISTED_MODULES = 3


def _is_unplanned(record: NotSeenRecord) -> bool:
    return (record.reason, record.detail) == (NotSeen.LOSSES, _NO_PLAN)


def _about_plans(logs: Collection[ProcessLog]) -> Iterator[str]:
    """One sentence about all modules whose losses were not seen for want of a plan."""
    records = (record for log in logs for record in log.not_seen)
    paths = {
        decode_text(record.text).partition(": ")[2]
        for record in records
        if _is_unplanned(record)
    }
    if paths:
        listed = ", ".join(sorted(paths)[:_LISTED_MODULES])
        if len(paths) > _LISTED_MODULES:
            listed += ", ..."
        noun = "1 module" if len(paths) == 1 else f"{len(paths)} modules"
        yield f"Losses in {noun} without a patch plan were not seen: {listed}."


def _about_search_limits(logs: Collection[ProcessLog]) -> Iterator[str]:
    limits = {
        log.options["search_limit"] for log in logs if "search_limit" in log.options
    }
    for limit in sorted(limits):
        yield (
            f"Blocks of more than {limit} bytes were not searched when they were freed: "
            "what they held has an older place, and what was written there later may "
            "have a later one."
        )


def _subject(log: ProcessLog) -> str:
    return log.name[0].upper() + log.name[1:]


def _should_have_looked(log: ProcessLog) -> bool:
    """A forked child that allocated nothing does not look; a program does."""
    return log.start is None or log.start.origin == Origin.EXEC


def _about_damage(damage: Damage) -> Iterator[str]:
    if damage.skipped_bytes:
        yield (
            f"{damage.skipped_bytes} bytes of the recording are damaged "
            f"({damage.skipped_places} places) and were skipped."
        )
    if damage.missing_chunks:
        yield (
            f"{damage.missing_chunks} parts of the recording are missing: they could "
            "not be written (is the disk full?)."
        )
    if damage.cut:
        yield "The recording ends in the middle of a part."
    if damage.unknown_records:
        yield f"{damage.unknown_records} records of an unknown kind were skipped."


def incomplete_stacks(findings: Iterable[Finding]) -> Iterator[str]:
    """Says how many stacks end early, for each reason."""
    stopped = (finding.allocation.stopped for finding in findings)
    for reason, count in sorted(Counter(filter(None, stopped)).items()):
        noun = "call stack ends" if count == 1 else "call stacks end"
        yield f"{count} {noun} early: {reason}."


def unjudged_slots(frames: int) -> Iterator[str]:
    """Says how many stack frames were not searched for dead variables."""
    if frames:
        noun = "stack frame was" if frames == 1 else "stack frames were"
        yield (
            f"{frames} {noun} not searched for variables out of scope: there is too "
            "much debug information. Blocks they hold count as reachable."
        )
