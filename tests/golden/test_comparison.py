"""What a report looks like beside an earlier one."""

from dataclasses import replace

from leakline.model.finding import Finding, Kind
from leakline.model.report import Comparison, Report
from leakline.triage.comparison import compare
from leakline.triage.selection import has_leaks

from .samples import FOLDED, INDIRECT, LOST, REACHABLE, RUN


def report(*findings: Finding, hidden: tuple[Finding, ...] = ()) -> Report:
    return Report(RUN, findings, hidden=hidden)


def compared(now: Report, before: Report) -> tuple[Report, Comparison]:
    result = compare(now, before, "old.json")
    assert result.comparison
    return result, result.comparison


def test_only_new_findings_stay_listed() -> None:
    result, comparison = compared(report(LOST, FOLDED), report(LOST, INDIRECT))
    assert result.findings == (FOLDED,)
    assert comparison.known == (LOST,)
    assert comparison.gone == (INDIRECT,)
    assert has_leaks(result)


def test_a_report_has_nothing_new_beside_itself() -> None:
    result, comparison = compared(report(LOST, FOLDED), report(LOST, FOLDED))
    assert result.findings == ()
    assert (comparison.grown, comparison.gone) == ((), ())
    assert not has_leaks(result)


def test_more_bytes_or_more_blocks_are_growth() -> None:
    fewer_bytes = replace(LOST, bytes=LOST.bytes - 1)
    fewer_blocks = replace(LOST, blocks=LOST.blocks - 1)
    for before in (fewer_bytes, fewer_blocks):
        _, comparison = compared(report(LOST), report(before))
        assert [(one.before, one.now) for one in comparison.grown] == [(before, LOST)]
        _, comparison = compared(report(before), report(LOST))
        assert comparison.grown == ()


def test_what_is_suppressed_now_is_not_gone() -> None:
    now = replace(report(), suppressed=(("known", LOST),))
    _, comparison = compared(now, report(LOST))
    assert comparison.gone == ()


def test_kinds_that_were_not_listed_now_are_not_gone() -> None:
    total = replace(REACHABLE, id="all-reachable")
    _, comparison = compared(report(hidden=(total,)), report(LOST, REACHABLE))
    assert comparison.gone == (LOST,)


def test_a_compared_report_can_be_the_next_baseline() -> None:
    second, _ = compared(report(LOST, FOLDED), report(LOST))
    third, comparison = compared(report(LOST, FOLDED, INDIRECT), second)
    assert third.findings == (INDIRECT,)
    assert comparison.known == (LOST, FOLDED)


def test_a_baseline_with_gaps_says_so() -> None:
    gap = replace(FOLDED, kind=Kind.LOST)
    result, _ = compared(report(), report(hidden=(gap,)))
    assert "does not list all its leaks" in result.run.not_seen[-1]
    result, _ = compared(report(), report(hidden=(REACHABLE,)))
    assert result.run.not_seen == RUN.not_seen
