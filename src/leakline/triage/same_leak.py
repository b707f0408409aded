"""Whether a leak that a run saw is the one that the checker found in the source.

Both must allocate at the same lines, and nothing known of the loss may differ.
"""

from collections.abc import Iterable, Sequence
from pathlib import PurePath

from leakline.model.finding import Finding, Kind, Loss, Precision
from leakline.model.stack import Frame

# How well two losses agree.
_CONTRADICTED, _NOT_SEEN, _SAME_CAUSE, _SAME_FUNCTION, _SAME_LINE = range(5)


def best_match(seen: Finding, candidates: Iterable[Finding]) -> Finding | None:
    """The checker's finding about the same leak, None when there is none."""
    if seen.kind is not Kind.LOST:
        return None
    best, best_agreement = None, _CONTRADICTED
    for candidate in candidates:
        agreement = _agreement(seen, candidate)
        if agreement > best_agreement:
            best, best_agreement = candidate, agreement
    return best


def _agreement(seen: Finding, checked: Finding) -> int:
    frames = checked.allocation.frames
    if checked.kind is not seen.kind or not frames:
        return _CONTRADICTED
    if not _lie_on(seen.allocation.frames, frames):
        return _CONTRADICTED
    return _losses_agree(seen.loss, checked.loss)


def _losses_agree(seen: Loss | None, checked: Loss | None) -> int:
    if seen is None or checked is None:
        return _NOT_SEEN
    if not seen.stack.frames or not checked.stack.frames:
        return _SAME_CAUSE if seen.cause is checked.cause else _NOT_SEEN
    place = checked.stack.frames[0]
    if any(_same_place(frame, place) for frame in seen.stack.frames):
        return _SAME_LINE
    if any(_same_function(frame, place) for frame in seen.stack.frames[:1]):
        return _SAME_FUNCTION
    is_guess = seen.precision is Precision.PROBABLE
    return _NOT_SEEN if is_guess else _CONTRADICTED


def _lie_on(stack: Sequence[Frame], places: Sequence[Frame]) -> bool:
    """Whether the places are on the stack, in their order."""
    rest = iter(stack)
    return all(any(_same_place(frame, place) for frame in rest) for place in places)


def _same_place(one: Frame, other: Frame) -> bool:
    return one.line == other.line > 0 and _same_file(one.file, other.file)


def _same_function(one: Frame, other: Frame) -> bool:
    names = (frame.function.partition("(")[0] for frame in (one, other))
    return len({*names}) == 1 and _same_file(one.file, other.file)


def _same_file(one: str, other: str) -> bool:
    """One names the file from further up than the other, if not alike."""
    if not one or not other:
        return False
    shorter, longer = sorted((PurePath(one).parts, PurePath(other).parts), key=len)
    return longer[len(longer) - len(shorter) :] == shorter
