"""Names, paths, commands and source text that try to become part of the page."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from leakline.model.finding import Cause, Kind, Loss, PathStep
from leakline.model.report import LensState, Process, Report, Run
from leakline.model.stack import Frame, Stack

from .page import Page
from .samples import finding

ATTACKS = [
    "</script><script>window.owned=1</script>",
    "<img src=x onerror='window.owned=1'>",
    "<!--<script>",
    "]]><svg/onload=window.owned=1>",
    '"><iframe srcdoc="<script>parent.owned=1</script>">',
    "&lt;b&gt; &amp; ${window.owned=1} `${owned}` \\u003c \\",
    "__proto__",
    "javascript:window.owned=1",
    "\u202etxt.exe \u2028 \x00 \x1b[2J \udcff",
]


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_text_of_the_program_becomes_part_of_the_page(
    attack: str, tmp_path: Path, open_report: Callable[..., Page]
) -> None:
    page = open_report(_report_made_of(attack, tmp_path))
    for view in ("Overview", "Flame graph", "Source", "Findings"):
        page.click(view, within=".tabs")
        assert page.all("#stage *")
    page.open_row(1)
    page.run("dispatchEvent(new Event('beforeprint'))")
    assert page.run("return window.owned") is None
    assert page.all("img, iframe, svg, b:not(.advice b)") == []
    assert len(page.all("script")) == 2
    assert page.run("return ({}).owned") is None
    assert page.all(".step h3 code")


def test_markup_is_shown_as_it_is_written(
    tmp_path: Path, open_report: Callable[..., Page]
) -> None:
    attack = ATTACKS[0]
    page = open_report(_report_made_of(attack, tmp_path))
    page.click("Findings")
    page.open_row(1)
    assert attack in page.text(".story h2")
    assert attack in page.text(".step-allocated .here")
    assert page.browser.title == f"Leakline '{attack}' '{attack}'"
    assert page.text(".command") == f"'{attack}' '{attack}'"


def test_the_page_asks_nothing_of_the_network(project: Page) -> None:
    assert project.run("return performance.getEntriesByType('resource').length") == 0
    project.run("new Image().src = 'http://localhost:9/a.png'")
    (complaint,) = project.complaints()
    assert "Content Security Policy" in complaint["message"]


def _report_made_of(attack: str, folder: Path) -> Report:
    source = folder / "source.c"
    source.write_text(f"{attack}\n{attack}\n", errors="surrogateescape")
    stack = Stack((Frame(attack, str(source), 1, attack, 1),), stopped=attack)
    hostile = replace(
        finding(attack, Kind.LOST, 1, 1),
        allocation=stack,
        birth=Stack((Frame(attack, f"/srv/{attack}.c", 1, attack, 2),)),
        loss=Loss(Cause.OVERWRITTEN, stack, attack),
        path=(PathStep(str(source), 2, attack),),
        notes=(attack,),
        advice=attack,
    )
    words = (attack, attack)
    run = Run(
        words,
        1,
        ((attack, LensState.ACTIVE),),
        (attack,),
        (Process(1, words, attack, 1, 1, 1),),
    )
    return Report(
        run,
        (hostile,),
        suppressed=((attack, hostile),),
        unused_suppressions=(attack,),
    )
