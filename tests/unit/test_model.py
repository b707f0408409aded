import dataclasses

import pytest

from leakline.model.finding import Confidence, Engine, Finding, Kind
from leakline.model.stack import Stack


def test_findings_cannot_be_changed_after_they_are_made() -> None:
    finding = Finding(
        id="f",
        engines=(Engine.REACH,),
        kind=Kind.LOST,
        confidence=Confidence.EXACT,
        blocks=1,
        bytes=8,
        allocation=Stack(),
    )
    with pytest.raises(dataclasses.FrozenInstanceError):
        finding.blocks = 2  # type: ignore[misc]  # the point of the test
