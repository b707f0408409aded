"""The whole story of one finding in plain words, with a suggestion."""

import textwrap
from collections.abc import Iterator

from leakline.model.finding import (
    HELD,
    Cause,
    Finding,
    Loss,
    Precision,
    Reference,
    Staleness,
)
from leakline.model.stack import Frame, Stack
from leakline.reports.calls import label
from leakline.reports.evidence import (
    innermost,
    is_born_at_allocation,
    path_title,
    reference_title,
)
from leakline.reports.headlines import amount, frame_with_file, is_confirmed_by_both
from leakline.reports.printable import printable
from leakline.reports.spots import Spots
from leakline.reports.style import Role, Style
from leakline.reports.suggestion import suggest

_WIDTH = 88
_MOST_CALLERS = 6
_SHORTEST_IDLE_S = 0.1
# How the last reference went, as the end of a sentence.
_LOSSES = {
    Cause.OVERWRITTEN: "was overwritten",
    Cause.OUT_OF_SCOPE: "went out of scope",
    Cause.CONTAINER_FREED: "lay in a block that was freed",
    Cause.NEVER_STORED: "was never stored: the result was ignored",
    Cause.THREAD_EXIT: "went with the thread that ended",
    Cause.UNMAPPED: "lay in memory that was unmapped",
}

# Said of a loss whose place was not seen exactly.
_CERTAINTY = {
    Precision.PROBABLE: "probably ",
    Precision.WINDOW: "(during a call from here) ",
    Precision.APPROXIMATE: "(about here) ",
}


def explain(finding: Finding, style: Style) -> str:
    """The story; ends with a newline."""
    writer = _Writer(style)
    lines = [
        *writer.heading(finding),
        *writer.section("What happened", writer.events(finding)),
        *writer.section("How sure this is", writer.limits(finding)),
        *writer.section("What to do", writer.suggestion(finding)),
    ]
    return "\n".join(lines).rstrip("\n") + "\n"


class _Writer:
    def __init__(self, style: Style) -> None:
        self._style = style
        self._spots = Spots(style)
        self._width = min(style.width or _WIDTH, _WIDTH)

    def heading(self, finding: Finding) -> Iterator[str]:
        kind = self._style.paint(finding.kind.value, Role.ALARM)
        yield f"{self._style.paint(printable(finding.id), Role.TITLE)}  {kind}"
        yield from self._sentence(f"{amount(finding)}{_by_both(finding)}.", "")
        yield ""

    def section(self, title: str, lines: Iterator[str]) -> Iterator[str]:
        written = list(lines)
        if written:
            yield self._style.paint(title, Role.TITLE)
            yield from written
            yield ""

    def events(self, finding: Finding) -> Iterator[str]:
        """What is known to have happened, in the order in which it usually does."""
        yield from self._event("It was allocated by", finding.allocation)
        if finding.leader:
            yield from self._event(
                "Only a lost block leads to it, from", finding.leader
            )
        if finding.last_access:
            yield from self._event("It was last seen in use by", finding.last_access)
            yield from self._work_before(finding)
        if finding.birth and not is_born_at_allocation(finding):
            yield from self._event("Its last reference was stored by", finding.birth)
        if finding.loss:
            yield from self._loss(finding.loss)
        if finding.staleness and _is_idle(finding.staleness):
            yield from self._sentence(f"Since then {_idle(finding.staleness)}.")
        for reference in finding.references:
            yield from self._reference(reference)
        if finding.path:
            yield from self._path(finding)

    def limits(self, finding: Finding) -> Iterator[str]:
        for note in finding.notes:
            yield from self._sentence(_capital(printable(note)))
        unseen: list[tuple[object, str]] = [
            (finding.last_access, "where it was last used")
        ]
        if finding.kind not in HELD:
            unseen.insert(0, (finding.loss, "where the last reference was lost"))
        missing = [words for evidence, words in unseen if evidence is None]
        if missing:
            yield from self._sentence(f"Not recorded: {' and '.join(missing)}.")

    def suggestion(self, finding: Finding) -> Iterator[str]:
        made = suggest(finding, self._spots)
        yield from self._sentence(self._style.paint(printable(made.action), Role.CALM))
        for title, sentences in (
            ("Why there:", made.reasons),
            ("Check first:", made.checks),
        ):
            if sentences:
                yield f"  {title}"
            for sentence in sentences:
                yield from self._sentence(printable(sentence), "   - ")

    def _event(self, words: str, stack: Stack) -> Iterator[str]:
        frame = frame_with_file(stack) or next(iter(stack.frames), None)
        if frame is None:
            yield from self._sentence(f"{words} a call that is not known.")
            return
        through = self._callers(stack, frame)
        place = self._spots.place(frame)
        yield from self._sentence(f"{words} `{label(frame)}` at {place}{through}.")
        yield from self._quoted(frame.file, frame.line)

    def _work_before(self, finding: Finding) -> Iterator[str]:
        """What the thread worked on when it used the block last."""
        frames = innermost(finding.used_before).frames
        names = dict.fromkeys(f"`{label(frame)}`" for frame in frames if frame.function)
        if names:
            yield from self._sentence(
                f"Shortly before, the same thread used memory in {', '.join(names)}."
            )

    def _reference(self, reference: Reference) -> Iterator[str]:
        words = _capital(f"it is {reference_title(reference)}").removesuffix(".")
        if reference.holder:
            yield from self._event(f"{words} allocated by", reference.holder)
        else:
            yield from self._sentence(f"{words}.")
        if reference.birth:
            yield from self._event("That reference was stored by", reference.birth)

    def _callers(self, stack: Stack, frame: Frame) -> str:
        own = self._spots.own_frames(stack)
        after = own[own.index(frame) + 1 :] if frame in own else []
        names = list(dict.fromkeys(label(one) for one in after))
        more = ", ..." if len(names) > _MOST_CALLERS else ""
        called = ", ".join(names[:_MOST_CALLERS])
        return f" (called from {called}{more})" if called else ""

    def _loss(self, loss: Loss) -> Iterator[str]:
        slot = f", `{printable(loss.slot)}`," if loss.slot else ""
        how = _LOSSES[loss.cause]
        if not loss.stack.frames:
            yield from self._sentence(
                f"Its last reference{slot} {how}; where, no one saw."
            )
            return
        certainty = _CERTAINTY.get(loss.precision, "")
        words = f"Its last reference{slot} {certainty}{how} in"
        yield from self._event(words, loss.stack)

    def _path(self, finding: Finding) -> Iterator[str]:
        title = path_title(finding)
        yield from self._sentence(f"{title[0].upper()}{title[1:]}:")
        for step in finding.path:
            place = self._spots.place(Frame(file=step.file, line=step.line))
            yield f"     {place}: {printable(step.event)}"

    def _quoted(self, file: str, line: int) -> Iterator[str]:
        text = self._spots.source(file, line)
        if text is not None:
            yield f"     {self._style.paint(text, Role.QUIET)}"

    def _sentence(self, text: str, mark: str = "  ") -> Iterator[str]:
        margin = " " * len(mark)
        return iter(
            textwrap.wrap(
                text,
                self._width,
                initial_indent=mark,
                subsequent_indent=margin,
                break_long_words=False,
                break_on_hyphens=False,
            )
        )


def _by_both(finding: Finding) -> str:
    if is_confirmed_by_both(finding):
        return ", confirmed by both: a run lost it, and the checker found the path"
    return ""


def _is_idle(staleness: Staleness) -> bool:
    """Whether there is more to say than that the program ended soon."""
    bounds = (staleness.lower_s, staleness.upper_s)
    return any(bound is not None and bound >= _SHORTEST_IDLE_S for bound in bounds)


def _idle(staleness: Staleness) -> str:
    lower, upper = staleness.lower_s, staleness.upper_s
    bounds = [f"at least {lower:.1f} s"] if lower is not None else []
    bounds += [f"at most {upper:.1f} s"] if upper is not None else []
    return f"{' and '.join(bounds) or 'an unknown time'} of CPU time passed unused"


def _capital(text: str) -> str:
    ended = text if text.endswith((".", "!", "?")) else f"{text}."
    return ended[:1].upper() + ended[1:]
