"""Conditions of which one holds."""

from collections.abc import Iterable

from leakline.static.engine.ranges import ANY, hull
from leakline.static.engine.summary import Conditions


def common_conditions(alternatives: Iterable[Conditions]) -> Conditions:
    """What holds whichever of the alternatives does."""
    first, *others = alternatives
    common = dict(first)
    for other in others:
        theirs = dict(other)
        common = {
            name: hull(known, theirs[name])
            for name, known in common.items()
            if name in theirs
        }
    return tuple(item for item in common.items() if item[1] != ANY)
