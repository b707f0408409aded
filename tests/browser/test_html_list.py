"""The list of findings: search, filters, order, keys, and very many rows."""

import time
from collections.abc import Callable

from selenium.webdriver.common.keys import Keys

from leakline.model.finding import Finding, Kind
from leakline.model.report import Report
from leakline.model.stack import Frame

from .page import Page
from .samples import RUN, finding

MANY = 10_000
# Types words into the search at once, and has the page laid out.
TYPE = """
const search = document.getElementById("search");
search.value = arguments[0];
search.dispatchEvent(new Event("input"));
document.body.offsetHeight;
"""


def test_search_finds_names_files_and_notes(project: Page) -> None:
    project.click("Findings")
    assert project.listed() == [1, 2, 3, 4, 5]
    for words, found in {
        "COPY_name": [3],
        "cache.c:15": [1],
        "make_item refresh": [1],
        "plugin": [5],
        "no such thing": [],
    }.items():
        project.one("#search").clear()
        project.one("#search").send_keys(words)
        assert project.listed() == found
    assert project.text(".count") == "0 of 5 findings"


def test_filters_leave_what_they_name(project: Page) -> None:
    project.click("Findings")
    project.choose("filter-kind", "lost")
    assert project.listed() == [1, 2, 5]
    project.choose("filter-engine", "loss")
    assert project.listed() == [1]


def test_a_total_of_the_overview_leads_to_its_findings(project: Page) -> None:
    project.click("overwritten")
    assert project.listed() == [1]
    project.click("Overview")
    project.click("reachable")
    assert project.listed() == [4]


def test_findings_are_sorted_by_bytes_and_by_objects(project: Page) -> None:
    project.click("Findings")
    project.choose("sort", "bytes")
    assert project.listed() == [4, 2, 3, 5, 1]
    project.choose("sort", "objects")
    assert project.listed() == [3, 5, 4, 1, 2]
    project.choose("sort", "saved")
    assert project.listed() == [4, 2, 3, 5, 1]
    project.choose("sort", "rank")
    assert project.listed() == [1, 2, 3, 4, 5]


def test_the_whole_way_is_possible_by_keyboard(project: Page) -> None:
    project.press("j", "j", "k", Keys.ENTER)
    assert project.address() == "/finding/2"
    project.press("/", "no such thing", Keys.ENTER)
    assert project.listed() == []
    project.press("/", "plugin", Keys.ENTER, Keys.ENTER)
    assert project.address() == "/finding/5"
    project.press("3")
    assert project.address() == "/flame"
    project.press("/", "make_item", Keys.ENTER)
    assert project.texts(".flame-cell") == ["all", "main", "make_item"]
    project.press("2", Keys.ESCAPE)
    assert project.address() == "/overview"
    assert "leaks" in project.text("h1")


def test_findings_of_one_place_are_told_apart_by_their_callers(
    open_report: Callable[..., Page],
) -> None:
    place = Frame("make", "/src/a.c", 1, "/app")
    callers = [Frame(name, "/src/a.c", 9, "/app") for name in ("first", "second")]
    found = [finding(c.function, Kind.LOST, 1, 1, place, c) for c in callers]
    page = open_report(Report(RUN, tuple(found)))
    page.click("Findings")
    assert page.texts(".row-title") == ["make from first", "make from second"]


def test_ten_thousand_findings_stay_responsive(
    open_report: Callable[..., Page],
) -> None:
    page = open_report(Report(RUN, tuple(map(_one_of_many, range(1, MANY + 1)))))
    page.click("Findings")
    assert len(page.listed()) < 50
    page.run("document.getElementById('rows').scrollTop = 1e9")
    _wait_until(lambda: MANY in page.listed())
    page.choose("sort", "bytes")
    page.one("#search").send_keys("function_77")
    assert page.text(".count") == "111 of 10,000 findings"
    page.click("Flame graph")
    page.one("#search").clear()
    assert page.text(".flame-cell:first-child") == "all"
    assert _cells_that_overlap(page) == 0


def test_an_update_of_ten_thousand_findings_takes_less_than_half_a_second(
    open_report: Callable[..., Page],
) -> None:
    page = open_report(Report(RUN, tuple(map(_one_of_many, range(1, MANY + 1)))))
    page.click("Findings")
    for words in ("function", "function_9", "lib_3 main", ""):
        before_s = page.busy_s()
        page.run(TYPE, words)
        assert page.busy_s() - before_s < 0.5


def _cells_that_overlap(page: Page) -> int:
    """How many cells of the flame graph begin before their left neighbour ends."""
    return int(
        page.run(
            """
            const boxes = [...document.querySelectorAll(".flame-cell")]
              .map((cell) => cell.getBoundingClientRect())
              .sort((a, b) => a.top - b.top || a.left - b.left);
            return boxes.filter((box, index) => {
              const before = boxes[index - 1];
              return before && before.top === box.top && before.right > box.left + 0.5;
            }).length;
            """
        )
    )


def _one_of_many(number: int) -> Finding:
    frames = [
        Frame(f"function_{number}", f"/src/lib_{number % 300}.c", number, "/app", 1),
        *(
            Frame(f"caller_{depth}_{number % 7**depth}", "/src/main.c", depth, "/app")
            for depth in range(10, 0, -1)
        ),
        Frame("main", "/src/main.c", 1, "/app"),
    ]
    return finding(f"id{number}", Kind.LOST, number % 13 + 1, number, *frames)


def _wait_until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 120
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)
