"""The stacks that tell what happened to a block after its allocation."""

from collections.abc import Iterator

from leakline.model.finding import Cause, Engine, Finding, Loss, Precision, Reference
from leakline.model.stack import Stack
from leakline.reports.printable import printable


def birth_title(finding: Finding, reference: str = "the last reference") -> str:
    """What happened where a reference came into being, with what it is called."""
    loss = finding.loss
    is_variable = loss is not None and loss.cause is Cause.OUT_OF_SCOPE
    is_concluded = loss is not None and loss.precision is Precision.PROBABLE
    probably = "probably " if is_variable and is_concluded else ""
    return f"{reference} was {probably}created here"


def is_born_at_allocation(finding: Finding) -> bool:
    """Whether the line that allocated the block created the reference, too."""
    return finding.birth is not None and _lines(finding.birth) == _lines(
        finding.allocation
    )


def _lines(stack: Stack) -> list[tuple[str, str, int]]:
    return [(frame.function, frame.file, frame.line) for frame in stack.frames]


def titled_stacks(finding: Finding) -> Iterator[tuple[str, Stack]]:
    """Each stack that is known, with what happened there; the loss comes first."""
    if finding.loss and finding.loss.stack.frames:
        yield loss_title(finding, finding.loss), finding.loss.stack
    if finding.birth:
        yield f"{birth_title(finding)}:", finding.birth
    yield from titled_uses(finding)


def titled_uses(finding: Finding) -> Iterator[tuple[str, Stack]]:
    """Where such blocks were used and freed, as far as it is known."""
    if finding.last_access:
        yield "last used here:", finding.last_access
    if finding.used_before:
        yield (
            "shortly before that, memory was used here:",
            innermost(finding.used_before),
        )
    for freed in finding.sibling_frees:
        yield "blocks like these are freed here:", freed


def reference_title(reference: Reference) -> str:
    """What still refers to blocks."""
    name = f"`{printable(reference.slot)}`" if reference.slot else "an unnamed slot"
    if reference.holder and not reference.slot:
        name = f"the word at offset {reference.offset}"
    count = f" ({reference.slots:,} slots)" if reference.slots > 1 else ""
    inside = " in blocks" if reference.holder else ""
    return f"still referred to by {name}{count}{inside}"


def innermost(stacks: tuple[Stack, ...]) -> Stack:
    """The innermost frames of several stacks, one below the other."""
    return Stack(tuple(stack.frames[0] for stack in stacks if stack.frames))


def loss_title(finding: Finding, loss: Loss) -> str:
    """How a loss is introduced, with its cause and as much certainty as there is."""
    slot = f" (`{printable(loss.slot)}`)" if loss.slot else ""
    start = _UNCERTAIN.get(loss.precision)
    if start is None and loss.cause in _EVENTS_IN_MEMORY:
        is_open = (
            Engine.LOSS in finding.engines
            and not loss.variables_seen
            and not was_followed(finding)
        )
        where = " in memory" if is_open else ""
        start = f"the last reference{where} was lost here"
    return f"{start or 'lost here'}, {loss.cause.value}{slot}:"


def was_followed(finding: Finding) -> bool:
    """Whether a run was trapped from the loss in memory on, to see what came later."""
    return bool(finding.path) and Engine.STATIC not in finding.engines


def path_title(finding: Finding) -> str:
    """Who found the path of a finding: the checker, or a run that was trapped."""
    if Engine.STATIC in finding.engines:
        return "the checker found this path in the source"
    return "these lines were passed on the way to the loss"


_UNCERTAIN = {
    Precision.PROBABLE: "probably lost in this function",
    Precision.WINDOW: "lost during this call",
    Precision.APPROXIMATE: "lost about here",
    Precision.LINE_TABLE: "lost here, as near as optimised code tells",
}

# Seen in memory; a register or local variable may have held the block longer.
_EVENTS_IN_MEMORY = frozenset(
    {Cause.OVERWRITTEN, Cause.CONTAINER_FREED, Cause.THREAD_EXIT, Cause.UNMAPPED}
)
