"""The stacks that tell what happened to a block after its allocation."""

from collections.abc import Iterator

from leakline.model.finding import Cause, Engine, Finding, Loss, Precision
from leakline.model.stack import Stack
from leakline.reports.printable import printable


def titled_stacks(finding: Finding) -> Iterator[tuple[str, Stack]]:
    """Each stack that is known, with what happened there; the loss comes first."""
    if finding.loss and finding.loss.stack.frames:
        yield loss_title(finding, finding.loss), finding.loss.stack
    if finding.birth:
        yield "the last reference was created here:", finding.birth
    if finding.last_access:
        yield "last used here:", finding.last_access
    for freed in finding.sibling_frees:
        yield "blocks like these are freed here:", freed


def loss_title(finding: Finding, loss: Loss) -> str:
    """How a loss is introduced, with its cause and as much certainty as there is."""
    slot = f" (`{printable(loss.slot)}`)" if loss.slot else ""
    what = f"{loss.cause.value}{slot}:"
    match loss.precision:
        case Precision.PROBABLE:
            return f"probably lost in this function, {what}"
        case Precision.WINDOW:
            return f"lost during this call, {what}"
        case Precision.APPROXIMATE:
            return f"lost about here, {what}"
        case _ if loss.cause not in _EVENTS_IN_MEMORY:
            return f"lost here, {what}"
        case _ if Engine.LOSS in finding.engines:
            return f"the last reference in memory was lost here, {what}"
        case _:
            return f"the last reference was lost here, {what}"


# Seen in memory; a register or local variable may have held the block longer.
_EVENTS_IN_MEMORY = frozenset(
    {Cause.OVERWRITTEN, Cause.CONTAINER_FREED, Cause.THREAD_EXIT, Cause.UNMAPPED}
)
