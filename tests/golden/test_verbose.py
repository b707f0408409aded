"""The verbose text: each place with its source and address, lost before allocated.

The sample is the list of which only the first element is freed.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from leakline.model.finding import Cause, Confidence, Engine, Finding, Kind, Loss
from leakline.model.stack import Frame, Stack
from leakline.reports import text
from leakline.reports.style import Style

from .samples import REPORTS, START

SOURCE = """\
static void drop_first(void) {
    record_t* first = malloc(sizeof(record_t));
    first->next = malloc(sizeof(record_t));
    work(first);
    free(first);
}

int main(void) {
    drop_first();
    return 0;
}
"""


def stack(line: int, offset: int) -> Stack:
    return Stack(
        (
            Frame("drop_first", "list.c", line, "/home/user/list", offset),
            Frame("main", "list.c", 9, "/home/user/list", 0x11F0),
            *START,
        )
    )


LOSS = Loss(Cause.CONTAINER_FREED, stack(5, 0x11A4), "first->next")
FINDING = Finding(
    id="0123456789abcdef",
    engines=(Engine.REACH, Engine.LOSS),
    kind=Kind.LOST,
    confidence=Confidence.EXACT,
    blocks=1,
    bytes=16,
    allocation=stack(3, 0x1180),
    birth=stack(3, 0x1189),
    loss=LOSS,
)
REPORT = replace(REPORTS["leaky"], findings=(FINDING,), hidden=())


def test_the_verbose_text_is_as_reviewed(
    golden: Callable[[str, str], None], tmp_path: Path
) -> None:
    (tmp_path / "list.c").write_text(SOURCE)
    golden("verbose.txt", text.render(REPORT, Style(tmp_path, verbose=True)))


def test_without_it_only_the_first_own_frame_is_explained(tmp_path: Path) -> None:
    (tmp_path / "list.c").write_text(SOURCE)
    shown = text.render(REPORT, Style(tmp_path))
    assert shown.count("drop_first();") == 0
    assert "+0x1180" not in shown


def test_where_variables_were_seen_no_other_reference_is_open(tmp_path: Path) -> None:
    loss = replace(LOSS, variables_seen=True)
    report = replace(REPORT, findings=(replace(FINDING, loss=loss),))
    shown = text.render(report, Style(tmp_path))
    assert "the last reference was lost here, container-freed" in shown
