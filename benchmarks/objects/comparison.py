"""Whether a report on random programs tells their losses, and nothing else."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from .vocabulary import Loss

Frames = list[dict[str, Any]]

# Where the stacks of the program and of its threads begin.
STARTS = {"_start", "clone3"}


def differences(
    losses: dict[str, Loss], made: dict[str, int], source: str, report: dict[str, Any]
) -> list[str]:
    """Compare a report with what the program of this source file is known to lose.

    Args:
        losses: What is expected, by the function that makes the blocks.
        made: How many blocks each of these made; none if the program ended early.
        source: The name of the file.
        report: What was told.
    """
    found: list[str] = []
    told = Counter[str]()
    for finding in report["findings"]:
        # What only lost blocks refer to is lost with them.
        block = finding["leader"] or finding["allocation"]
        maker = _maker(block["frames"], losses)
        if maker is None:
            found.append(f"not lost: {_printed(finding['allocation']['frames'])}")
        elif finding["kind"] == "lost":
            told[maker] += finding["blocks"]
            wrong = _wrong(losses[maker], source, finding)
            found += [f"{maker}: {one}" for one in wrong]
    found += [
        f"{maker}: {told[maker]} blocks in the report, {made.get(maker)} lost"
        for maker in losses
        if told[maker] != made.get(maker)
    ]
    return found


def _wrong(loss: Loss, source: str, finding: dict[str, Any]) -> Iterator[str]:
    """What a finding tells otherwise."""
    told = finding["loss"]
    if told is None:
        yield f"{finding['kind']}, no loss"
        return
    frames: Frames = told["frames"]
    if told["cause"] != loss.cause:
        yield f"{told['cause']} (`{told['slot']}`), not {loss.cause}"
    own = [place for place, frame in enumerate(frames) if frame["file"] == source]
    if not own or frames[own[0]]["line"] != loss.line:
        yield f"lost in {_printed(frames)}, not in line {loss.line}"
    elif (own[0] > 0) != loss.inside:
        yield f"not on this side of the library: {_printed(frames)}"
    if frames[-1]["function"] not in STARTS:
        yield f"incomplete: {_printed(frames)}"


def _maker(frames: Frames, losses: dict[str, Loss]) -> str | None:
    names = (re.split(r"[\[(]", frame["function"])[0] for frame in frames)
    return next((name for name in names if name in losses), None)


def _printed(frames: Frames) -> str:
    return " < ".join(f"{frame['function'][:60]}:{frame['line']}" for frame in frames)
