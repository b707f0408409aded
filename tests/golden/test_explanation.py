"""The story of one finding in plain words."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from leakline.model.finding import Cause, Engine, Finding, Kind, Loss, Reference
from leakline.model.report import Report
from leakline.model.stack import Stack
from leakline.reports.explanation import explain
from leakline.reports.style import Style
from leakline.triage.naming import find_finding

from .samples import EVIDENCE, FOLDER, HOSTILE, INDIRECT, LOST, REACHABLE, RUN

Golden = Callable[[str, str], None]

STYLE = Style(Path(FOLDER))
BOTH = replace(EVIDENCE, engines=(*EVIDENCE.engines, Engine.STATIC))
# Without advice of the checker, the evidence of the run decides.
SEEN = replace(
    EVIDENCE,
    path=(),
    handovers=(),
    other_paths=None,
    release="",
    advice="",
    indirect_blocks=3,
    indirect_bytes=90,
)
COMPILED = replace(
    SEEN, loss=Loss(Cause.OVERWRITTEN, EVIDENCE.allocation, "item", variables_seen=True)
)
STALE = replace(
    SEEN,
    kind=Kind.STALE,
    loss=None,
    used_before=(LOST.allocation, INDIRECT.allocation),
    references=(
        Reference("cache.items", 2, birth=EVIDENCE.birth),
        Reference("next", 1, 8, holder=LOST.allocation),
    ),
)
STORIES = {
    "stale": STALE,
    "both": BOTH,
    "seen": SEEN,
    "compiled": COMPILED,
    "lost": LOST,
    "indirect": INDIRECT,
    "reachable": REACHABLE,
    "hostile": HOSTILE,
}


@pytest.mark.parametrize("name", STORIES)
def test_the_story_is_as_reviewed(name: str, golden: Golden) -> None:
    golden(f"explained-{name}.txt", explain(STORIES[name], STYLE))


@pytest.mark.parametrize("kind", Kind)
def test_every_kind_has_a_suggestion(kind: Kind) -> None:
    for finding in (EVIDENCE, LOST, replace(LOST, allocation=Stack())):
        told = explain(replace(finding, kind=kind), STYLE)
        assert told.partition("What to do\n  ")[2].strip()


@pytest.mark.parametrize("cause", Cause)
def test_every_cause_names_the_place_to_change(cause: Cause) -> None:
    loss = replace(SEEN.loss or Loss(cause, Stack()), cause=cause)
    told = explain(replace(SEEN, loss=loss), STYLE)
    advice = told.partition("What to do\n")[2].partition("Why there")[0]
    assert "src/cache.c:15" in advice
    assert "with `forget`" in advice


def test_a_slot_with_braces_is_a_name_like_any_other() -> None:
    loss = Loss(Cause.OVERWRITTEN, EVIDENCE.allocation, "{0}{slot}")
    assert "`{0}{slot}`" in explain(replace(SEEN, loss=loss), STYLE)


def named(identity: str) -> Finding:
    return replace(LOST, id=identity)


def test_findings_are_named_by_id_beginning_or_number() -> None:
    report = Report(RUN, (named("abcd12"), named("abce34"), named("12")))
    joined = replace(report, findings=(replace(LOST, other_ids=("feed",)),))
    assert find_finding(report, "abcd") == report.findings[0]
    assert find_finding(report, "#2") == report.findings[1]
    assert find_finding(report, "12") == report.findings[2]
    assert find_finding(joined, "feed") == joined.findings[0]
    for unknown in ("", "abc", "abcf", "0", "4", "-1", "\u0662"):
        assert find_finding(report, unknown) is None
