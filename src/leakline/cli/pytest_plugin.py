"""A plugin of pytest that says which test lost memory of a C or C++ extension module.

`pytest --leakline` starts the test run again under `leakline run`. After each test the
heap is looked at, and what was lost since the last look belongs to the test. The marker
`leak_limit("1 KB")` lets a test fail that loses more.
"""

from __future__ import annotations

import ctypes
import gc
import os
import re
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from leakline.cli.options import VARIABLE, parse_options

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from leakline.dynamic.looks import Looks
    from leakline.model.finding import Finding

_MARK = "__leakline_mark"
_UNITS = {"": 1, "B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}
_MOST_LINES = 5
# The property of a test under which its report carries what it lost.
_PROPERTY = "leakline"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declares the options."""
    group = parser.getgroup("leakline", "leaks of extension modules")
    group.addoption(
        "--leakline",
        action="store_true",
        help="run the tests under Leakline and say which of them lost memory",
    )
    group.addoption(
        "--leak-limit",
        metavar="SIZE",
        type=_size_argument,
        help='let every test fail that loses more than SIZE, as "0", "100 B", "1 KB"',
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declares the marker, and begins to watch when the process is watched."""
    config.addinivalue_line(
        "markers",
        'leak_limit(size): fail the test if it loses more than size, as "100 B"',
    )
    if config.getoption("--leakline") and _is_watched():
        config.pluginmanager.register(_Watch(config), "leakline-watch")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Starts the same test run again under Leakline, if it is not there yet."""
    if not config.getoption("--leakline") or _is_watched():
        return None
    with tempfile.TemporaryDirectory(prefix="leakline-pytest-") as folder:
        words = [
            *(sys.executable, "-m", "leakline", "run", "--error-exitcode=0"),
            *("-o", f"{folder}/tests.leakline"),
            *("--format=json", f"--report-file={folder}/all.json", "--"),
            *(sys.executable, "-m", "pytest", *config.invocation_params.args),
        ]
        here = config.invocation_params.dir
        return subprocess.run(words, check=False, cwd=here).returncode


class _Watch:
    """Looks at the heap after each part of a test, and keeps what each test lost.

    With pytest-xdist each worker looks at its own heap, and what its tests lost comes to
    the process that prints the summary with the reports of the tests.
    """

    def __init__(self, config: pytest.Config) -> None:
        from leakline.dynamic.looks import open_looks

        self._limit: int | None = config.getoption("--leak-limit")
        self._files = ExitStack()
        recording = Path(parse_options(os.environ[VARIABLE])["recording"])
        self._looks: Looks = self._files.enter_context(
            open_looks(recording, os.getpid())
        )
        self._look: Callable[[], int] = ctypes.CDLL(None)[_MARK]
        self._lost: dict[str, list[Finding]] = {}
        self._told: dict[str, str] = {}

    def pytest_sessionstart(self) -> None:
        """Takes the first look: what was lost before the tests belongs to none."""
        self._found()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None]:
        """Attributes what the test and its set-up lost, and fails over the limit."""
        yield
        self._attribute(item)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None]:
        """The same for what its fixtures lose when they end."""
        yield
        self._attribute(item)

    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter
    ) -> None:
        """Lists the tests that lost memory, with the places of the allocations."""
        terminalreporter.section("Leakline")
        for test, story in self._told.items():
            terminalreporter.write_line(f"{test} {story}")
        if not self._told:
            terminalreporter.write_line("No test lost memory.")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Takes what a test lost from its report, which may come from a worker."""
        properties = dict(report.user_properties)
        if _PROPERTY in properties:
            self._told[report.nodeid] = str(properties[_PROPERTY])

    def pytest_unconfigure(self) -> None:
        """Closes the recording."""
        self._files.close()

    def _attribute(self, item: pytest.Item) -> None:
        found = self._found()
        if not found:
            return
        lost = self._lost.setdefault(item.nodeid, [])
        lost += found
        story = "\n  ".join([_amount(lost), *_places(lost)])
        others = [one for one in item.user_properties if one[0] != _PROPERTY]
        item.user_properties[:] = [*others, (_PROPERTY, story)]
        limit = _limit_of(item, self._limit)
        if limit is not None and sum(one.bytes for one in lost) > limit:
            lines = [f"{_amount(lost)}, more than the limit of {limit:,} bytes"]
            pytest.fail("\n  ".join([*lines, *_places(lost)]), pytrace=False)

    def _found(self) -> tuple[Finding, ...]:
        gc.collect()
        self._look()
        return self._looks.grown()


def _is_watched() -> bool:
    options = parse_options(os.environ.get(VARIABLE, ""))
    return "recording" in options and hasattr(ctypes.CDLL(None), _MARK)


def _limit_of(item: pytest.Item, usual: int | None) -> int | None:
    marker = item.get_closest_marker("leak_limit")
    if marker is None:
        return usual
    values = (*marker.args, *marker.kwargs.values())
    if len(values) != 1:
        raise pytest.UsageError('leak_limit takes one size, as leak_limit("100 B")')
    return parse_size(values[0])


def parse_size(value: object) -> int:
    """A number of bytes, as a number or in words: 100, "100 B", "1.5 KB"."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMG]?B?)\s*", str(value).upper())
    if match is None or match[2] not in _UNITS:
        raise pytest.UsageError(f'{value!r} is no size, as "100 B" or "1 KB"')
    return int(float(match[1]) * _UNITS[match[2]])


def _size_argument(text: str) -> int:
    return parse_size(text)


def _amount(findings: Sequence[Finding]) -> str:
    from leakline.reports.quantities import bytes_in_words, plural

    size = sum(finding.bytes for finding in findings)
    blocks = sum(finding.blocks for finding in findings)
    return f"lost {bytes_in_words(size)} in {plural(blocks, 'block')}"


def _places(findings: Sequence[Finding]) -> list[str]:
    from leakline.reports.calls import label
    from leakline.reports.headlines import allocating_frame, amount
    from leakline.reports.spots import Spots
    from leakline.reports.style import Style

    spots = Spots(Style(Path.cwd()))
    lines = []
    for finding in findings:
        frame = allocating_frame(finding)
        where = f"{label(frame)} at {spots.place(frame)}" if frame else "unknown code"
        lines.append(f"{finding.kind.value}: {amount(finding)}, allocated by {where}")
    more = len(lines) - _MOST_LINES
    return lines[:_MOST_LINES] + ([f"and {more:,} more"] if more > 0 else [])
