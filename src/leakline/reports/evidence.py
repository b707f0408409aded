"""The stacks that tell what happened to a block after its allocation."""

from collections.abc import Iterator

from leakline.model.finding import Finding
from leakline.model.stack import Stack
from leakline.reports.printable import printable


def titled_stacks(finding: Finding) -> Iterator[tuple[str, Stack]]:
    """Each stack that is known, with what happened there; the loss comes first."""
    if finding.loss and finding.loss.stack.frames:
        slot = f" (`{printable(finding.loss.slot)}`)" if finding.loss.slot else ""
        cause = finding.loss.cause.value
        yield f"the last reference was lost here, {cause}{slot}:", finding.loss.stack
    if finding.birth:
        yield "the last reference was created here:", finding.birth
    if finding.last_access:
        yield "last used here:", finding.last_access
    for freed in finding.sibling_frees:
        yield "blocks like these are freed here:", freed
