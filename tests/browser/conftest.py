"""Opens reports in a real browser, from a file, as users do."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

from leakline.model.report import Report
from leakline.reports.html.render import render
from leakline.reports.privacy import Privacy

from .page import Page
from .samples import project_report, write_sources

FLAGS = (
    "--headless",
    "--no-sandbox",  # the tests may run as root
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1400,900",
)


@pytest.fixture(scope="session")
def browser() -> Iterator[webdriver.Chrome]:
    """One browser for all tests; each test opens pages of its own."""
    options = Options()
    options.binary_location = "/usr/bin/chromium"
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        driver = webdriver.Chrome(options, Service("/usr/bin/chromedriver"))
        yield driver
        driver.quit()


@pytest.fixture
def open_report(
    browser: webdriver.Chrome, tmp_path: Path
) -> Iterator[Callable[..., Page]]:
    """Return a function that renders a report and opens it.

    The test fails when the page complained about anything on its console, as it does on
    an error in the script, on a breach of its security policy and on a failed request.
    """
    page = Page(browser, tmp_path / "report.html")

    def show(report: Report, privacy: Privacy | None = None) -> Page:
        page.path.write_text(render(report, privacy or Privacy(tmp_path)))
        page.open()
        return page

    yield show
    assert page.complaints() == []
    page.leave()


@pytest.fixture
def project(tmp_path: Path, open_report: Callable[..., Page]) -> Page:
    """The report of the sample project, opened."""
    write_sources(tmp_path)
    return open_report(project_report(tmp_path))
