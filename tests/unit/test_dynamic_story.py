"""The window in which a free would have been right."""

from leakline.dynamic.story import release_window
from leakline.model.finding import (
    Cause,
    Confidence,
    Engine,
    Finding,
    Kind,
    Loss,
)
from leakline.model.stack import Frame, Stack


def at(function: str, line: int) -> Frame:
    return Frame(function, "a.c", line)


def lost(used: Stack | None, *loss: Frame, kind: Kind = Kind.LOST) -> Finding:
    return Finding(
        "id",
        (Engine.REACH,),
        kind,
        Confidence.EXACT,
        1,
        8,
        Stack((at("main", 1),)),
        loss=Loss(Cause.OVERWRITTEN, Stack(loss)),
        last_access=used,
    )


def test_the_window_lies_in_the_innermost_function_of_both() -> None:
    used = Stack((at("length", 3), at("work", 20), at("main", 40)))
    sentence = release_window(lost(used, at("store", 7), at("work", 25)))
    assert sentence is not None
    assert sentence.endswith("in `work`, from line 20 to line 25")


def test_places_of_different_functions_are_both_named() -> None:
    sentence = release_window(lost(Stack((at("length", 3),)), at("store", 7)))
    assert sentence is not None
    assert sentence.endswith("from `length` at a.c:3 to `store` at a.c:7")


def test_nothing_is_said_without_evidence() -> None:
    used = Stack((at("length", 3),))
    assert release_window(lost(None, at("store", 7))) is None
    assert release_window(lost(used)) is None
    assert release_window(lost(used, Frame("store"))) is None
    assert release_window(lost(used, at("store", 7), kind=Kind.STALE)) is None
