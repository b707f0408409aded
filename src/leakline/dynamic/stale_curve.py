"""How stale the blocks of a finding are, as a distribution that a report can draw."""

from collections import Counter

from leakline.model.finding import StalePoint

# More points than this no drawing shows apart.
_MOST_POINTS = 64
_MS_PER_S = 1000


def stale_curve(blocks: Counter[int]) -> tuple[StalePoint, ...]:
    """The cumulative distribution of blocks by their idle milliseconds.

    Neighbours are joined when there are many.
    """
    points: list[StalePoint] = []
    total = 0
    for bound_ms in sorted(blocks):
        total += blocks[bound_ms]
        points.append(StalePoint(bound_ms / _MS_PER_S, total))
    step = -(-len(points) // _MOST_POINTS) or 1
    return tuple(points[::-1][::step][::-1])
