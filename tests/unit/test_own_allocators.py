"""Stacks without the frames of a user's own allocators."""

from leakline.model.finding import Confidence, Engine, Finding, Kind
from leakline.model.report import Report, Run
from leakline.model.stack import Frame, Stack
from leakline.triage.own_allocators import OwnAllocators, leave_out

OWN = OwnAllocators({"pool_new": "pool_free", "grab": "drop"}, {"pool_free"})


def stack(*functions: str, folded_at: int | None = None) -> Stack:
    return Stack(tuple(map(Frame, functions)), folded_at)


def shown(finding: Finding) -> Finding:
    (found,) = leave_out(Report(Run((), 0, ()), (finding,)), OWN).findings
    return found


def leak(allocation: Stack, frees: tuple[Stack, ...] = ()) -> Finding:
    return Finding(
        id="id",
        engines=(Engine.REACH,),
        kind=Kind.LOST,
        confidence=Confidence.EXACT,
        blocks=1,
        bytes=8,
        allocation=allocation,
        sibling_frees=frees,
    )


def test_the_outermost_allocator_names_the_release() -> None:
    found = shown(leak(stack("grab", "pool_new(unsigned long)", "make", "main")))
    assert found.allocation == stack("make", "main")
    assert found.release == "pool_free"


def test_allocators_further_out_and_the_last_frame_stay() -> None:
    inner = leak(stack("make", "pool_new", "main"))
    assert shown(inner) == inner
    assert shown(leak(stack("pool_new"))).allocation == stack("pool_new")


def test_frees_that_become_equal_are_one() -> None:
    frees = (stack("pool_free", "end"), stack("end"))
    assert shown(leak(stack("make"), frees)).sibling_frees == (stack("end"),)


def test_a_mark_of_folded_frames_moves_along() -> None:
    found = shown(leak(stack("pool_new", "make", "main", folded_at=2)))
    assert found.allocation.folded_at == 1
