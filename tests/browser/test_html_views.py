from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from leakline.model.finding import Cause, Engine, Kind, Loss
from leakline.model.report import Coverage, LensState, Report, Run
from leakline.model.stack import Stack
from leakline.reports.privacy import Privacy

from .page import Page
from .samples import RUN, project_report, write_sources

VIEWS = ("Overview", "Findings", "Flame graph", "Source")
UNWATCHED = replace(
    RUN, exit_code=None, lenses=(("reach", LensState.UNAVAILABLE),), processes=()
)


def test_the_overview_says_how_much_leaked_and_what_was_not_seen(project: Page) -> None:
    assert project.text("h1") == "4 leaks: 1.7 KiB in 40 blocks"
    assert "Process 12 ran /sbin/ldconfig" in project.text(".warning")
    kinds, causes, drag, processes = project.texts("table:not(figure table)")
    assert "#1 make_item 4.2 KiB\u00b7s 1.5 to 9.0 s of CPU time" in drag
    assert "lost 1,118 10 3" in kinds
    assert "indirectly lost 600 30 1" in kinds
    assert "reachable 72,704 4 1" in kinds
    assert "overwritten 48 2 1" in causes
    assert "120,456" in processes


@pytest.mark.parametrize(
    ("report", "verdict"),
    [
        (Report(RUN, ()), "No leaks found"),
        (Report(UNWATCHED, ()), "Nothing was checked"),
    ],
)
def test_a_report_without_findings_says_whether_anybody_looked(
    report: Report, verdict: str, open_report: Callable[..., Page]
) -> None:
    page = open_report(report)
    assert page.text("h1") == verdict
    unseen = "Checking was NOT active: nothing was looked at."
    assert (unseen in page.text(".warning")) == (report.run is UNWATCHED)
    for view in VIEWS:
        page.click(view)
        assert page.text("#stage")


def test_unused_memory_is_no_leak_but_is_said(
    tmp_path: Path, open_report: Callable[..., Page]
) -> None:
    kept = project_report(tmp_path).findings[3]
    stale = replace(kept, kind=Kind.STALE, drag_byte_s=1.0)
    promise = "No block was idle for less than is said."
    run = replace(RUN, remarks=(promise,))
    page = open_report(Report(run, (stale,), hidden=(kept,)))
    assert page.text("h1") == "Unused memory at 1 place: 71.0 KiB"
    assert page.one("h1").get_attribute("class") == "doubt"
    assert promise in page.text(".remarks")


def test_findings_that_are_not_listed_are_counted(
    tmp_path: Path, open_report: Callable[..., Page]
) -> None:
    every = project_report(tmp_path).findings
    page = open_report(Report(RUN, every[:1], hidden=every[1:]))
    assert page.text("h1") == "4 leaks: 1.7 KiB in 40 blocks"
    assert "indirectly lost (not listed) 600 30 1" in page.texts("table")[0]
    page.click("Findings")
    assert page.listed() == [1]


def test_a_check_of_source_says_how_much_it_looked_at(
    tmp_path: Path, open_report: Callable[..., Page]
) -> None:
    write_sources(tmp_path)
    run = Run(
        ("leakline", "check", "list.c"),
        None,
        (("static", LensState.ACTIVE),),
        coverage=Coverage(2, 1, 30, ("huge (list.c:4): too many paths",)),
    )
    whole = project_report(tmp_path).findings[0]
    loss = Loss(Cause.OUT_OF_SCOPE, Stack(), "name")
    found = replace(whole, engines=(Engine.STATIC,), blocks=1, bytes=0, loss=loss)
    page = open_report(Report(run, (found,)))
    assert "Checked 2 units, 1 not readable: 29 of 30 functions" in page.text()
    assert "Not fully analysed: huge (list.c:4)" in page.text(".warning")
    assert page.texts(".biggest .row-amount") == ["size not known"]
    page.click("Findings")
    page.open_row(1)
    assert "size not known in 1 block" in page.text(".amount")
    assert page.text(".step-lost") == "lost: out-of-scope (name)"


def test_a_report_without_source_says_so(
    tmp_path: Path, open_report: Callable[..., Page]
) -> None:
    write_sources(tmp_path)
    privacy = Privacy(tmp_path, with_source=False)
    page = open_report(project_report(tmp_path), privacy)
    page.click("Source")
    assert page.text() == "Source text was left out of this report."
    page.click("Findings")
    page.open_row(1)
    assert len(page.texts(".step h3")) == 4
    assert page.all(".code") == []


def test_the_biggest_leak_opens_its_story(project: Page) -> None:
    assert project.texts(".biggest .row-amount") == ["1.6 KiB", "70 B", "48 B"]
    project.all(".biggest a")[0].click()
    project.settle()
    assert "#2 lost make_item" in project.text(".story h2")
    assert "1000 B in 1 block, and with them 600 B in 30 blocks" in project.text()


def test_a_story_follows_the_block_along_the_source(project: Page) -> None:
    project.click("Findings")
    project.open_row(1)
    assert project.texts(".step h3") == [
        "allocated in make_item list.c:3",
        "last used in look_up cache.c:22",
        "last reference created in remember cache.c:8",
        "lost: overwritten (cache) in refresh cache.c:15",
    ]
    assert project.texts(".step .here .line-text") == [
        "int list_line_3;",
        "int cache_line_22;",
        "int cache_line_8;",
        "int cache_line_15;",
    ]
    story = project.text(".story")
    assert "free it before `refresh` overwrites `cache`" in story
    assert "Blocks like these are freed here: forget cache.c:30" in story
    assert "list.c:7 the copy is made" in story
    assert "unused for 1.5 to 9.0 s of CPU time" in story


def test_a_story_begins_with_what_to_do(project: Page) -> None:
    project.click("Findings")
    project.open_row(1)
    done, why, check = project.texts(".advice p")
    assert done == "What to do: free it before `refresh` overwrites `cache`"
    assert (why, check) == ("Why there:", "Check first:")
    said = project.texts(".advice li")
    assert "The last use that was seen came before: cache.c:22." in said


def test_what_run_and_checker_found_is_marked(
    tmp_path: Path, open_report: Callable[..., Page]
) -> None:
    report = project_report(tmp_path)
    first, *others = report.findings
    both = replace(first, engines=(*first.engines, Engine.STATIC))
    page = open_report(replace(report, findings=(both, *others)))
    page.click("Findings")
    page.open_row(1)
    assert "confirmed by both: a run and the checker" in page.text(".story")
    page.open_row(2)
    assert "confirmed by both" not in page.text(".story")


def test_evidence_that_was_not_seen_is_left_out(project: Page) -> None:
    project.click("Findings")
    project.open_row(5)
    assert project.texts(".step h3") == ["allocated in ?? plugin.so+0x9"]
    assert project.all(".story .code") == []
    assert "freed here" not in project.text(".story")


def test_an_indirect_leak_names_what_leads_to_it(project: Page) -> None:
    project.click("Findings")
    project.open_row(3)
    assert "Only lost blocks lead here, allocated by: make_item list.c:3" in (
        project.text(".story")
    )
    assert project.texts(".step h3") == ["allocated in copy_name list.c:9"]


def points(page: Page, curve: str) -> list[tuple[float, float]]:
    """The corners of a curve, as shares of the drawing's width and height."""
    path = page.one(f".curve-{curve}").get_attribute("d") or ""
    corners = path.removeprefix("M").replace("H", "L").split("L")
    pairs = (corner.split(",") for corner in corners if "," in corner)
    return [(float(x), float(y)) for x, y in pairs]


def test_the_heap_over_time_is_drawn(project: Page) -> None:
    live, lost = points(project, "live"), points(project, "lost")
    assert [x for x, _ in live] == [x for x, _ in lost]
    assert live[0][0] < live[1][0] < live[2][0]
    assert live[0][1] > live[1][1] > live[2][1]
    assert all(above[1] < below[1] for above, below in zip(live, lost, strict=True))
    project.all("figure summary")[0].click()
    assert "1 s 68.4 KiB 400 B" in project.text("figure table")


def test_the_staleness_of_a_site_is_a_distribution(project: Page) -> None:
    project.click("Findings")
    project.open_row(1)
    curve = points(project, "stale")
    assert [x for x, _ in curve] == sorted(x for x, _ in curve)
    heights = [y for _, y in curve]
    assert heights == sorted(heights, reverse=True)
    assert "How long its blocks have been unused" in project.text(".story")
    assert "drag (bytes x time unused): 4.2 KiB" in project.text(".story")
    project.one("figure summary").click()
    assert "1.5 s 50 %" in project.text("figure table")
    project.open_row(2)
    assert project.all("figure") == []


def test_a_place_leads_to_its_line_in_the_source(project: Page) -> None:
    project.click("Findings")
    project.open_row(1)
    project.click("cache.c:15", within=".step-lost h3")
    assert project.text(".source h2") == "cache.c"
    assert project.text(".chosen .line-text") == "int cache_line_15;"
    assert project.text(".chosen .labels") == "#1 lost"
    marked = project.texts(".here .line-number")
    assert marked == ["2", "8", "15", "22"]


def test_a_marked_line_leads_back_to_its_finding(project: Page) -> None:
    project.click("Source")
    project.click("#2 allocated")
    assert "#2 lost make_item" in project.text(".story h2")


def test_a_long_file_is_shown_around_the_named_lines(project: Page) -> None:
    project.click("Findings")
    project.open_row(2)
    project.click("long.c:2500", within=".stack")
    numbers = project.texts(".line-number")
    assert numbers == [str(number) for number in range(2480, 2521)]
    assert project.text(".chosen .line-text") == "int long_line_2500;"


def test_the_flame_graph_is_as_wide_as_what_leaked(project: Page) -> None:
    project.click("Flame graph")
    cells = {cell.text: cell.size["width"] for cell in project.all(".flame-cell")}
    whole = cells["all"]
    assert cells["main"] == pytest.approx(whole * 1648 / 1718, abs=3)
    assert cells["make_item"] == pytest.approx(whole * 1048 / 1718, abs=3)
    assert "open_log" not in cells  # reachable, so it did not leak
    project.choose("measure", "blocks")
    cells = {cell.text: cell.size["width"] for cell in project.all(".flame-cell")}
    assert cells["make_item"] == pytest.approx(whole * 3 / 40, abs=3)


def test_the_flame_graph_zooms_in_and_out(project: Page) -> None:
    project.click("Flame graph")
    whole = project.all(".flame-cell")[0].size["width"]
    project.click("copy_name", within=".flame")
    assert project.texts(".flame-cell") == ["all", "main", "copy_name", "strdup"]
    widths = {cell.size["width"] for cell in project.all(".flame-cell")}
    assert widths == {whole}
    project.click("all", within=".trail")
    assert "make_item" in project.texts(".flame-cell")


def test_light_and_dark_differ_and_stay_readable(project: Page) -> None:
    seen = set()
    for _ in range(2):
        colours = project.run(
            "const style = getComputedStyle(document.body);"
            "return [style.backgroundColor, style.color]"
        )
        assert _contrast(*colours) > 7
        seen.add(tuple(colours))
        project.click("light/dark")
    assert len(seen) == 2


def test_paper_shows_the_overview_and_every_story(project: Page) -> None:
    project.run("dispatchEvent(new Event('beforeprint'))")
    project.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    paper = project.text("#paper")
    assert not project.one("#app").is_displayed()
    assert "4 leaks: 1.7 KiB in 40 blocks" in paper
    assert all(f"#{number} " in paper for number in range(1, 6))
    assert "lost: overwritten (cache) in refresh cache.c:15" in paper
    project.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    project.run("dispatchEvent(new Event('afterprint'))")
    assert project.one("#app").is_displayed()


def test_a_printed_report_has_pages(project: Page) -> None:
    assert len(project.browser.print_page()) > 20_000


def test_a_narrow_window_does_not_cut_anything_off(project: Page) -> None:
    project.browser.set_window_size(500, 800)
    try:
        for view in VIEWS:
            project.click(view)
            wide = project.run("return document.documentElement.scrollWidth")
            assert wide <= project.run("return innerWidth"), view
    finally:
        project.browser.set_window_size(1400, 900)


def _contrast(*colours: str) -> float:
    """How well two colours can be told apart, from 1 to 21, as WCAG defines it."""
    darker, lighter = sorted(map(_luminance, colours))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    numbers = colour.removeprefix("rgb(").removesuffix(")").split(",")
    red, green, blue = (_linear(int(number) / 255) for number in numbers)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.03928 else float(((part + 0.055) / 1.055) ** 2.4)
