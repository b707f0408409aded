import io
import time

import pytest

from leakline.cli.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s = 100.0
        monkeypatch.setattr(time, "monotonic", lambda: self.now_s)


def test_short_work_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    terminal = Terminal()
    with Progress(terminal) as shown:
        clock.now_s += 0.9
        shown.update("reading", 1, 2)
    assert terminal.getvalue() == ""


def test_long_work_draws_a_bar_and_erases_it(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    terminal = Terminal()
    with Progress(terminal) as shown:
        clock.now_s += 1.1
        shown.update("reading", 1, 2)
        shown.update("reading", 2, 2)  # too soon to draw again
        clock.now_s += 0.2
        shown.update("waiting", 0, 0)
    drawn = terminal.getvalue().split("\r\x1b[K")
    assert drawn == [
        "",
        "leakline: reading [############............]  50%",
        "leakline: waiting ...",
        "",
    ]


def test_nothing_is_drawn_into_files(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    file = io.StringIO()
    with Progress(file) as shown:
        clock.now_s += 60
        shown.update("reading", 1, 2)
    assert file.getvalue() == ""


def test_a_terminal_that_goes_away_does_not_stop_the_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock(monkeypatch)

    class Gone(Terminal):
        def write(self, text: str, /) -> int:
            raise OSError(text)

    with Progress(Gone()) as shown:
        clock.now_s += 60
        shown.update("reading", 1, 2)
        clock.now_s += 60
        shown.update("reading", 2, 2)
