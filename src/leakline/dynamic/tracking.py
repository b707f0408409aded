"""What lens `pages` can promise about its bounds, and what it did."""

from collections.abc import Iterable, Iterator

from leakline.dynamic.process_log import ProcessLog, chosen_snapshot
from leakline.recording._format import (
    MergingRecord,
    TouchStacks,
    TouchStacksRecord,
    Tracking,
    TrackingRecord,
)

_PAGE_BYTES = 4096
_NS_PER_MS = 1_000_000
_BYTES_PER_MIB = 1 << 20


def tracking_remarks(logs: Iterable[ProcessLog]) -> Iterator[str]:
    """Sentences for each process whose use of memory was watched."""
    for log in logs:
        snapshot = chosen_snapshot(log)
        if snapshot is None or snapshot.tracking is None:
            continue
        if snapshot.tracking.state == Tracking.ACTIVE:
            yield f"{log.name.capitalize()}: {_promise(snapshot.tracking)}."
        if snapshot.touch_stacks is not None:
            yield f"{log.name.capitalize()}: {_touch_stacks(snapshot.touch_stacks)}."
        if snapshot.merging is not None and snapshot.merging.passes:
            yield (
                f"{log.name.capitalize()}: "
                f"{_saving(snapshot.merging, snapshot.tracking)}."
            )


def _promise(tracking: TrackingRecord) -> str:
    unit = (
        "a page"
        if tracking.resolution_pages == 1
        else f"{tracking.resolution_pages} neighbouring pages"
    )
    return (
        f"no block was idle for less than is said; uses are told apart by {unit}; "
        f"{tracking.watched_pages:,} of {tracking.pages:,} pages were watched at the "
        f"end, after {tracking.scans:,} {'scan' if tracking.scans == 1 else 'scans'}"
    )


_WHY_NO_TOUCHES: dict[int, str] = {
    TouchStacks.REFUSED: "that takes CAP_SYS_PTRACE, or access to /dev/userfaultfd and "
    "a system that lets processes look into their parents; without, system calls on "
    "idle memory would fail",
    TouchStacks.FAILED: "a trial did not work on this system",
    TouchStacks.ENDED: "the process that noted them was ended",
}


def _touch_stacks(record: TouchStacksRecord) -> str:
    if record.state != TouchStacks.ACTIVE:
        why = _WHY_NO_TOUCHES.get(record.state, "the process was too short")
        return f"who used idle memory last is not known: {why}"
    return (
        f"of {record.told + record.unknown:,} uses of watched pages {record.told:,} were "
        f"noted with their call stack; noting one took {record.longest_ns / 1000:,.0f} µs "
        "at most"
    )


def _saving(merging: MergingRecord, tracking: TrackingRecord) -> str:
    """Saved now; pages without blocks were given back at any time before."""
    saved = (merging.merged_pages - merging.shelves) * _PAGE_BYTES
    emptied = merging.emptied_pages * _PAGE_BYTES
    return (
        f"{merging.merged_pages:,} idle pages lie on {merging.shelves:,} pages of memory,"
        f" which saves {saved / _BYTES_PER_MIB:.1f} MiB; {emptied / _BYTES_PER_MIB:.1f} "
        f"MiB without any block were given back; the heap takes "
        f"{tracking.resident_bytes / _BYTES_PER_MIB:.1f} MiB, the process "
        f"{merging.footprint_bytes / _BYTES_PER_MIB:.1f} MiB (Pss); it was stopped "
        f"{merging.passes:,} times, for {merging.longest_stop_ns / _NS_PER_MS:.1f} ms "
        "at most"
    )
