"""Allocators of the user's own: their frames are left out of stacks, as malloc's are.

What a wrapper or pool returns belongs to its caller, so that the caller is where the
block was allocated, and the wrapper's partner is what releases it.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from leakline.model.finding import Finding
from leakline.model.report import Report
from leakline.model.stack import Frame, Stack


@dataclass(frozen=True, slots=True)
class OwnAllocators:
    """Functions that allocate and release, by name.

    Attributes:
        allocators: Each with the function that releases what it returns.
    """

    allocators: Mapping[str, str]
    releasers: AbstractSet[str]


def leave_out(report: Report, own: OwnAllocators) -> Report:
    """The report with stacks that begin at the callers of these functions."""
    return replace(
        report,
        findings=tuple(_seen_from_callers(one, own) for one in report.findings),
        hidden=tuple(_seen_from_callers(one, own) for one in report.hidden),
    )


def _seen_from_callers(finding: Finding, own: OwnAllocators) -> Finding:
    names = own.allocators.keys()
    allocation = _from_callers(finding.allocation, names)
    leader = finding.leader and _from_callers(finding.leader, names)
    frees = tuple(_from_callers(one, own.releasers) for one in finding.sibling_frees)
    return replace(
        finding,
        allocation=allocation,
        leader=leader,
        sibling_frees=tuple(dict.fromkeys(frees)),
        release=finding.release or _release(finding.allocation, allocation, own),
    )


def _from_callers(stack: Stack, names: AbstractSet[str]) -> Stack:
    """The stack without its innermost frames up to the last of these in a row."""
    left_out = 0
    while left_out < len(stack.frames) - 1 and _name(stack.frames[left_out]) in names:
        left_out += 1
    if not left_out:
        return stack
    folded = stack.folded_at
    return replace(
        stack,
        frames=stack.frames[left_out:],
        folded_at=None if folded is None else max(folded - left_out, 0),
    )


def _release(whole: Stack, shown: Stack, own: OwnAllocators) -> str:
    """What releases the block: the partner of the outermost allocator left out."""
    left_out = len(whole.frames) - len(shown.frames)
    return own.allocators[_name(whole.frames[left_out - 1])] if left_out else ""


def _name(frame: Frame) -> str:
    """The name of a function without its parameters, as model files give it."""
    return frame.function.partition("(")[0]
