"""Several reports become one: runs add up, source and run confirm each other."""

from dataclasses import replace

import pytest

from leakline.model.finding import (
    Cause,
    Confidence,
    Engine,
    Finding,
    Kind,
    Loss,
    PathStep,
)
from leakline.model.report import Coverage, LensState, Process, Report, Run
from leakline.model.stack import Frame, Stack
from leakline.triage.comparison import compare
from leakline.triage.joining import join

BUILD = "/home/user/project"
PARSE = Frame("parse", f"{BUILD}/src/parse.c", 10, f"{BUILD}/prog", 1)
MAIN = Frame("main", f"{BUILD}/src/main.c", 5, f"{BUILD}/prog", 2)
SEEN = Finding(
    id="run1",
    engines=(Engine.REACH, Engine.LOSS),
    kind=Kind.LOST,
    confidence=Confidence.EXACT,
    blocks=3,
    bytes=30,
    allocation=Stack((PARSE, MAIN)),
    loss=Loss(Cause.OUT_OF_SCOPE, Stack()),
    processes=(7,),
)
CHECKED = Finding(
    id="check1",
    engines=(Engine.STATIC,),
    kind=Kind.LOST,
    confidence=Confidence.LIKELY,
    blocks=1,
    bytes=0,
    allocation=Stack((Frame("parse", "src/parse.c", 10),)),
    loss=Loss(
        Cause.OUT_OF_SCOPE, Stack((Frame("parse", "src/parse.c", 14),)), "buffer"
    ),
    path=(PathStep("src/parse.c", 10, "allocated here"),),
    advice="Release `buffer` before line 14.",
)


def run_report(*findings: Finding, pid: int = 7) -> Report:
    lenses = (("reach", LensState.ACTIVE), ("loss", LensState.OFF))
    run = Run(("./prog",), 0, lenses, (), (Process(pid, ("./prog",), "exit 0"),))
    return Report(run, findings)


def check_report(*findings: Finding) -> Report:
    lenses = (("static", LensState.ACTIVE),)
    run = Run(("leakline", "check"), None, lenses, coverage=Coverage(2, 0, 9))
    return Report(run, findings)


def test_a_leak_of_both_keeps_the_counts_and_gets_the_path() -> None:
    report = join([check_report(CHECKED), run_report(SEEN)])
    (finding,) = report.findings
    assert (finding.id, finding.other_ids) == ("run1", ("check1",))
    assert finding.engines == (Engine.REACH, Engine.LOSS, Engine.STATIC)
    assert (finding.blocks, finding.bytes) == (3, 30)
    assert (finding.path, finding.advice) == (CHECKED.path, CHECKED.advice)
    assert finding.loss == CHECKED.loss
    assert report.run.command == ("./prog",)
    assert report.run.coverage == Coverage(2, 0, 9)
    assert dict(report.run.lenses) == {
        "static": LensState.ACTIVE,
        "reach": LensState.ACTIVE,
        "loss": LensState.OFF,
    }


def lost_at(frame: Frame, cause: Cause = Cause.OVERWRITTEN) -> Finding:
    return replace(SEEN, loss=Loss(cause, Stack((frame,))))


@pytest.mark.parametrize(
    "seen",
    [
        replace(SEEN, loss=None),
        lost_at(Frame("parse", f"{BUILD}/src/parse.c", 14)),
        lost_at(Frame("parse", f"{BUILD}/src/parse.c", 12)),
        replace(SEEN, allocation=Stack((Frame("xmalloc", "a.c", 1), PARSE, MAIN))),
    ],
)
def test_what_is_known_must_agree(seen: Finding) -> None:
    assert len(join([run_report(seen), check_report(CHECKED)]).findings) == 1


@pytest.mark.parametrize(
    "seen",
    [
        lost_at(Frame("other", f"{BUILD}/src/other.c", 14)),
        replace(SEEN, allocation=Stack((replace(PARSE, line=11), MAIN))),
        replace(SEEN, allocation=Stack((replace(PARSE, file="/x/parse.c"),))),
        replace(SEEN, allocation=Stack((replace(PARSE, file=""),))),
        replace(SEEN, kind=Kind.INDIRECT),
        replace(SEEN, allocation=Stack()),
    ],
)
def test_different_leaks_stay_apart(seen: Finding) -> None:
    report = join([run_report(seen), check_report(CHECKED)])
    assert [one.id for one in report.findings] == ["run1", "check1"]


def test_the_loss_decides_between_two_paths_from_one_allocation() -> None:
    other = replace(
        CHECKED, id="check2", loss=Loss(Cause.OVERWRITTEN, Stack((MAIN,)), "last")
    )
    seen = lost_at(MAIN)
    joined, alone = join([run_report(seen), check_report(CHECKED, other)]).findings
    assert (joined.other_ids, alone.id) == (("check2",), "check1")


def test_one_path_confirms_leaks_of_several_callers() -> None:
    elsewhere = replace(SEEN, id="run2", allocation=Stack((PARSE,)))
    report = join([run_report(SEEN, elsewhere), check_report(CHECKED)])
    assert [one.other_ids for one in report.findings] == [("check1",), ("check1",)]


def test_runs_add_up_and_checks_do_not() -> None:
    again = replace(SEEN, blocks=2, bytes=20, processes=(8,))
    runs = join([run_report(SEEN), run_report(again, pid=8)])
    assert [(one.blocks, one.bytes, one.processes) for one in runs.findings] == [
        (5, 50, (7, 8))
    ]
    assert [process.pid for process in runs.run.processes] == [7, 8]
    checks = join([check_report(CHECKED), check_report(CHECKED)])
    assert checks.findings == (CHECKED,)
    assert checks.run.coverage == Coverage(4, 0, 18)


def test_a_run_that_failed_gives_its_exit_code() -> None:
    failed = run_report(SEEN)
    failed = replace(failed, run=replace(failed.run, exit_code=3))
    assert join([run_report(), failed]).run.exit_code == 3


def test_a_baseline_of_either_engine_knows_a_joined_leak() -> None:
    joined = join([run_report(SEEN), check_report(CHECKED)])
    for baseline in (run_report(SEEN), check_report(CHECKED), joined):
        compared = compare(joined, baseline, "old")
        assert compared.findings == ()
        assert compared.comparison is not None
        assert not compared.comparison.grown
        assert not compared.comparison.gone


def test_a_joined_leak_that_went_is_gone_once() -> None:
    joined = join([run_report(SEEN), check_report(CHECKED)])
    comparison = compare(run_report(), joined, "old").comparison
    assert comparison is not None
    assert [one.id for one in comparison.gone] == ["run1"]
