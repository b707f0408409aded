"""Which processes of a run left nothing behind, and why.

The runtime notes each fork, exec and spawn; a process that should have appeared in the
recording after one and did not was not seen.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from leakline.dynamic.images import why_unseen
from leakline.dynamic.process_log import ProcessLog
from leakline.recording._format import Origin

# Process ids named in one sentence.
LISTED = 5


def unseen_children(logs: Iterable[ProcessLog]) -> Iterator[str]:
    """Sentences about children that never reported."""
    known = list(logs)
    if any(_started_unwatched(log) for log in known):
        yield "Programs that were started by others were not watched, as asked for."
    images = Counter(_unseen_images(known))
    for path, count in sorted(images.items()):
        reason = why_unseen(path) or "it did not load the runtime or was killed early"
        runs = "was not watched" if count == 1 else f"was not watched ({count} runs)"
        yield f"{path} {runs}: {reason}."
    lost = sorted(set(_unseen_forks(known)))
    if lost:
        pids = ", ".join(map(str, lost[:LISTED])) + (" ..." if lost[LISTED:] else "")
        noun = "process" if len(lost) == 1 else "processes"
        yield (
            f"{len(lost)} forked {noun} left no report (pid {pids}): killed, still "
            "running, or ended without the runtime's knowledge."
        )


def _watches_children(log: ProcessLog) -> bool:
    return log.options.get("children") != "0"


def _started_unwatched(log: ProcessLog) -> bool:
    return not _watches_children(log) and bool(log.spawns or log.execs or log.forks)


def _unseen_images(logs: list[ProcessLog]) -> Iterator[str]:
    """Paths of programs that were started but do not appear."""
    last_start: dict[int, int] = {}
    for log in logs:
        if log.start is not None and log.start.origin == Origin.EXEC:
            known = last_start.get(log.key.pid, 0)
            last_start[log.key.pid] = max(known, log.key.started_ns)
    for log in logs:
        if not _watches_children(log):
            continue
        yield from (path for pid, path in log.spawns if pid not in last_start)
        if log.execs and last_start.get(log.key.pid, 0) <= log.key.started_ns:
            yield log.execs[-1]


def _unseen_forks(logs: list[ProcessLog]) -> Iterator[int]:
    seen = {log.key.pid for log in logs}
    for log in logs:
        yield from (pid for pid in log.forks if pid not in seen)
