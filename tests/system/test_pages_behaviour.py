"""A program under lens `pages` does what it does without it, and the report says when
its memory could not be watched."""

import resource
from pathlib import Path

import pytest

from leakline.recording._format import (
    NotSeen,
    NotSeenRecord,
    RawPageRecord,
    Tracking,
    TrackingRecord,
)

from .command import Build
from .hostile_places import IOCTL, MEMFD_CREATE, USERFAULTFD, refusing
from .preload import Recorded, run_both_ways

CHILD = "it is a forked child, whose heap is not watched"
UNKNOWN = "forked by a system call of its own"
# Of the array of which the program uses one page in sixteen.
SPARSE_PAGES = 4096
IDLE_MS = 50
# What the program does, how the lens does at its end, and what the report says.
WAYS = [
    ("fork", Tracking.ACTIVE, CHILD),
    ("threads", Tracking.ACTIVE, CHILD),
    ("_Fork", Tracking.ENDED, UNKNOWN),
    ("clone", Tracking.ENDED, UNKNOWN),
    ("syscall-fork", Tracking.ENDED, UNKNOWN),
    ("syscall-clone", Tracking.ENDED, UNKNOWN),
    ("advise", Tracking.ACTIVE, ""),
    ("wait", Tracking.ENDED, "waits for children of every kind"),
    ("aio", Tracking.ENDED, "it uses asynchronous I/O"),
]


def states(recorded: Recorded) -> list[int]:
    """Return how the lens did in each process, in order of their looks."""
    return [record.state for record in recorded.of(TrackingRecord)]


def sentences(recorded: Recorded) -> str:
    """Return all that was not seen of the use of memory."""
    return " ".join(
        record.text.decode()
        for record in recorded.of(NotSeenRecord)
        if record.reason == NotSeen.STALENESS
    )


@pytest.mark.parametrize(("way", "state", "sentence"), WAYS)
def test_memory_behaves_as_ordinary_memory(
    build: Build, tmp_path: Path, way: str, state: Tracking, sentence: str
) -> None:
    program = build("pages_behaviour.c", "-O1")
    recorded = run_both_ways([program, way], tmp_path, lens="pages")
    assert states(recorded)[-1] == state
    assert sentence in sentences(recorded)


def test_a_hundred_threads_go_unnoticed(build: Build, tmp_path: Path) -> None:
    program = build("pages_behaviour.c", "-O1")
    recorded = run_both_ways([program, "crowd"], tmp_path, lens="pages")
    # On a busy machine it may take too long to stop them all for a fork.
    assert states(recorded)[-1] in {Tracking.ACTIVE, Tracking.ENDED}
    assert CHILD in sentences(recorded)


def test_touches_show_page_by_page_after_a_fork(build: Build, tmp_path: Path) -> None:
    # The heap is mapped anew then, and the kernel must be asked anew to bring back one
    # page at a time.
    recorded = run_both_ways(
        [build("pages_behaviour.c", "-O1"), "sparse"],
        tmp_path,
        lens="pages",
        scan_ms=20,
        raw_blocks=1,
    )
    assert recorded.of(TrackingRecord)[-1].resolution_pages == 1
    idle = [page for page in recorded.of(RawPageRecord) if page.lower_ms >= IDLE_MS]
    assert len(idle) > SPARSE_PAGES // 2


def limit_file_size() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))


def limit_address_space() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))


def test_a_limit_on_file_sizes_leaves_the_heap_as_it_was(
    build: Build, tmp_path: Path
) -> None:
    program = build("pages_behaviour.c", "-O1")
    recorded = run_both_ways([program, "fork"], tmp_path, limit_file_size, lens="pages")
    assert set(states(recorded)) == {Tracking.UNAVAILABLE}


def test_a_limit_on_address_space_does_not_matter(build: Build, tmp_path: Path) -> None:
    program = build("pages_behaviour.c", "-O1")
    recorded = run_both_ways(
        [program, "advise"], tmp_path, limit_address_space, lens="pages"
    )
    assert states(recorded) == [Tracking.ACTIVE]


def test_no_descriptor_is_needed(build: Build, tmp_path: Path) -> None:
    program = build("pages_staleness.c", "-O1")
    recorded = run_both_ways(
        [
            "bash",
            "-c",
            f'for i in {{3..1023}}; do eval "exec $i>&-"; done; {program} 0.3',
        ],
        tmp_path,
        lens="pages",
    )
    assert Tracking.ACTIVE in states(recorded)


# What the kernel refuses, how the lens does then, and what the report says.
REFUSALS = [
    (MEMFD_CREATE, Tracking.UNAVAILABLE, "gives no shared memory"),
    (USERFAULTFD, Tracking.ACTIVE, "up to 16 neighbouring pages"),
    (IOCTL, Tracking.ACTIVE, "up to 16 neighbouring pages"),
]


@pytest.mark.parametrize(("number", "state", "sentence"), REFUSALS)
def test_a_filter_takes_no_more_than_precision(
    build: Build, tmp_path: Path, number: int, state: Tracking, sentence: str
) -> None:
    program = build("pages_behaviour.c", "-O1")
    recorded = run_both_ways(
        [program, "advise"], tmp_path, refusing(number), lens="pages"
    )
    assert states(recorded) == [state]
    assert sentence in sentences(recorded)
