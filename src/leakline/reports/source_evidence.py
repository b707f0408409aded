"""What the checker knows of calls and other paths, as sentences for a suggestion."""

from collections.abc import Iterable, Iterator

from leakline.model.finding import Fate, Finding, Handover
from leakline.model.stack import Frame
from leakline.reports.calls import label
from leakline.reports.spots import Spots

# Why a call on the way does not stand against releasing the block after it.
_HARMLESS = {
    Fate.READS: "{calls} only {use} the block: it stays with the caller.",
    Fate.RETURNS: "{calls} {give} the block back to the caller.",
}
# What to look at when a call does more with such blocks on other paths.
_ELSEWHERE = {
    Fate.FREES: "{call} releases the block on other paths, not on this one: release it "
    "there too, or here only where it did not.",
    Fate.KEEPS: "{call} keeps the block on other paths: release it here only where it "
    "was not kept.",
}


def reasons(finding: Finding, spots: Spots) -> Iterator[str]:
    """Why a release at the line of the loss is right, by the source."""
    for fate, words in _HARMLESS.items():
        calls = [one for one in finding.handovers if _does_only(one, fate)]
        if calls:
            many = len(calls) > 1
            yield words.format(
                calls=_listed(_call(one, spots) for one in calls),
                use="use" if many else "uses",
                give="give" if many else "gives",
            )
    paths = finding.other_paths
    if paths is not None and not paths.on_every_path:
        yield (
            "Other ways from the allocation do not pass that line: they stay as they are."
        )
    elif paths is not None and not paths.released:
        yield "Every way from the allocation passes that line: one release is enough."


def checks(finding: Finding, spots: Spots) -> Iterator[str]:
    """What the source says must be looked at before."""
    for one in finding.handovers:
        words = _ELSEWHERE.get(one.otherwise) if one.otherwise else None
        if words:
            yield words.format(call=_call(one, spots))
        elif one.fate is Fate.KEEPS:
            yield (
                f"{_call(one, spots)} keeps a reference to the block: it must not be "
                "used after the release."
            )
    released = _released_besides(finding)
    if released:
        places = _listed(map(spots.place, released))
        yield (
            f"Other paths release such a block at {places} and may come to that line "
            "too: it must not be released twice. Clear the variable there, or release "
            "it on this path only."
        )


def _released_besides(finding: Finding) -> list[Frame]:
    """Where other paths release the block, calls of this path left out."""
    if finding.other_paths is None:
        return []
    calls = {(one.file, one.line) for one in finding.handovers}
    released = finding.other_paths.released
    return [frame for frame in released if (frame.file, frame.line) not in calls]


def _does_only(handover: Handover, fate: Fate) -> bool:
    return handover.fate is fate and handover.otherwise not in _ELSEWHERE


def _call(handover: Handover, spots: Spots) -> str:
    frame = Frame(handover.function, handover.file, handover.line)
    return f"`{label(frame)}` ({spots.place(frame)})"


def _listed(words: Iterable[str]) -> str:
    *first, last = dict.fromkeys(words)
    return f"{', '.join(first)} and {last}" if first else last
