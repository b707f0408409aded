"""Options of the test run, and the signals that its programs start with."""

import signal

import pytest


def pytest_configure() -> None:
    # Runners in the background, or below nohup, ignore these, and programs inherit it.
    for number in (signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write what the code prints now into tests/golden/expected",
    )
