"""A server with an injected leak: redis, with frees of values left out."""

import os
import socket
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from random import Random

from benchmarks.redis_client import (
    GET_ANSWER,
    SET_ANSWER,
    VALUE_BYTES,
    ask,
    get_request,
    served,
    set_request,
)
from leakline.dynamic.load import load
from leakline.model.finding import Finding, Kind
from leakline.recording._format import RawBlockRecord, SkippedFreeRecord, TrackingRecord
from leakline.recording.reader import open_recording

LEAKLINE = Path(sys.executable).parent / "leakline"
# Redis keeps values in blocks of a few bytes more.
SKIPPED = "skip_free=100:skip_free_least=700:skip_free_most=760:raw_blocks=1"
WORK_S = 12.0
STALE_AFTER_S = 0.5
KEYS = 2000
SERVED_ROUNDS = 3200  # of 200 keys each


@dataclass(frozen=True, slots=True)
class Found:
    """What came of the injected leaks.

    Attributes:
        injected: Blocks whose free was left out.
        old: Those of them left out long enough before the look to be stale.
        reported: Those of the old ones that were reported as stale.
        in_use_reported: Blocks of the values in use that were reported as stale.
        rank: Of the leaking site among all stale sites, from 1; 0: not found.
        sites: Stale sites in all.
    """

    injected: int
    old: int
    reported: int
    in_use_reported: int
    rank: int
    sites: int

    def is_good(self) -> bool:
        """Whether the goals are met."""
        return self.rank == 1 and self.in_use_reported == 0 and self.reported > 0


def measure(scratch: Path, seed: int = 1) -> Found:
    """Run redis, replace values at random, and look for what was not freed."""
    recording = scratch / "redis"
    recording.unlink(missing_ok=True)
    watching = (LEAKLINE, "run", "--lens", "pages", "-o", recording, "--")
    options = {"LEAKLINE_OPTIONS": f"{SKIPPED}:skip_free_seed={seed}"}
    with served(watching, {**os.environ, **options}, scratch) as link:
        _replace_values(link, Random(seed))  # noqa: S311 - the same keys in every run
    return _evaluate(recording)


def serve(
    environment: dict[str, str], scratch: Path, rounds: int = SERVED_ROUNDS
) -> None:
    """Run redis for a fixed number of requests in some environment."""
    random = Random(1)  # noqa: S311 - the same keys in every run
    with served((), environment, scratch) as link:
        for _ in range(rounds):
            _replace_some(link, random)


def _replace_values(link: socket.socket, random: Random) -> None:
    deadline = time.monotonic() + WORK_S
    while time.monotonic() < deadline:
        _replace_some(link, random)
    # All values in use are read once more.
    for key in range(KEYS):
        ask(link, _replace(key), _ANSWER_BYTES)


def _replace_some(link: socket.socket, random: Random) -> None:
    keys = [random.randrange(KEYS) for _ in range(200)]
    ask(link, b"".join(map(_replace, keys)), 200 * _ANSWER_BYTES)


_ANSWER_BYTES = len(SET_ANSWER + GET_ANSWER)


def _replace(key: int) -> bytes:
    return set_request(key) + get_request(key)


def _evaluate(recording: Path) -> Found:
    now_ms = 0
    blocks: dict[int, RawBlockRecord] = {}
    skipped: dict[int, SkippedFreeRecord] = {}
    with open_recording(recording) as file:
        for _, record in file.records():
            if isinstance(record, TrackingRecord):
                now_ms = record.now_ms
            elif isinstance(record, RawBlockRecord):
                blocks[record.address] = record
            elif isinstance(record, SkippedFreeRecord):
                skipped[record.address] = record
    stale_after_ms = STALE_AFTER_S * 1000
    old = [one for one in skipped.values() if now_ms - one.cpu_ms > 2 * stale_after_ms]
    reported = [one for one in old if blocks[one.address].lower_ms >= stale_after_ms]
    leaking = {one.stack for one in skipped.values()}
    in_use = [
        block
        for block in blocks.values()
        if block.stack in leaking and block.address not in skipped
    ]
    wrongly = [block for block in in_use if block.lower_ms >= stale_after_ms]
    stale = load(
        recording, show=frozenset({Kind.STALE}), stale_after_s=STALE_AFTER_S
    ).findings
    ranked = sorted(stale, key=lambda one: -(one.drag_byte_s or 0))
    leaked_blocks = Counter(one.stack for one in skipped.values()).total()
    return Found(
        injected=leaked_blocks,
        old=len(old),
        reported=len(reported),
        in_use_reported=len(wrongly),
        rank=_rank(ranked),
        sites=len(ranked),
    )


def _rank(ranked: list[Finding]) -> int:
    """The place of the first finding of blocks that are as large as the values."""
    for place, finding in enumerate(ranked, start=1):
        if finding.blocks and finding.bytes / finding.blocks >= VALUE_BYTES:
            return place
    return 0


def render(found: Found) -> str:
    """One line for the run."""
    return (
        f"redis, one free of values in ten left out: {found.injected:,} leaked, "
        f"{found.old:,} of them long ago, {found.reported:,} of those reported "
        f"({found.reported / max(found.old, 1):.1%}); the "
        f"leaking site ranks {found.rank} of {found.sites}; "
        f"{found.in_use_reported} blocks in use reported"
    )
