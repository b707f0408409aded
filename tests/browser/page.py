"""A report in the browser, in the words of the tests."""

from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.wait import WebDriverWait

_PATIENCE_S = 120
# A change of the address and a new size are noticed a moment later.
_SETTLE = """
const done = arguments[0];
setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(() => done())));
"""


class Page:
    """What is on the screen, and hands to use it."""

    def __init__(self, browser: webdriver.Chrome, path: Path) -> None:
        self.browser = browser
        self.path = path

    def open(self, view: str = "") -> None:
        """Loads the page anew at the named view."""
        self.leave()
        self.browser.get(f"{self.path.as_uri()}{view}")
        self.settle()

    def leave(self) -> None:
        self.browser.get("about:blank")

    def complaints(self) -> list[dict[str, Any]]:
        """What the page wrote on its console since the last time it was asked."""
        log = self.browser.get_log("browser")  # type: ignore[no-untyped-call]
        complaints: list[dict[str, Any]] = log
        return complaints

    def all(self, selector: str) -> list[WebElement]:
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector: str) -> WebElement:
        """The only such element, once it is there."""
        WebDriverWait(self.browser, _PATIENCE_S).until(lambda _: self.all(selector))
        (found,) = self.all(selector)
        return found

    def text(self, selector: str = "#stage") -> str:
        return self.one(selector).text

    def texts(self, selector: str) -> list[str]:
        return [found.text for found in self.all(selector)]

    def click(self, words: str, within: str = "body") -> None:
        """Clicks the link or button that reads so."""
        for found in self.all(f"{within} a, {within} button"):
            if found.text == words:
                found.click()
                self.settle()
                return
        raise AssertionError(f"nothing to click reads {words!r}")

    def choose(self, control: str, value: str) -> None:
        Select(self.one(f"#{control}")).select_by_value(value)
        self.settle()

    def press(self, *keys: str) -> None:
        for key in keys:
            ActionChains(self.browser).send_keys(key).perform()
            self.settle()

    def open_row(self, number: int) -> None:
        """Opens the finding with this number from the list."""
        self.one(f".row[data-number='{number}']").click()
        self.settle()

    def settle(self) -> None:
        """Waits until the page has drawn what follows from the last action."""
        self.browser.execute_async_script(_SETTLE)

    def run(self, script: str, *values: object) -> Any:  # noqa: ANN401 (any JSON)
        return self.browser.execute_script(script, *values)

    def busy_s(self) -> float:
        """CPU time that the page's thread has spent on tasks, however busy the machine."""
        domain = {"timeDomain": "threadTicks"}
        self.browser.execute_cdp_cmd("Performance.enable", domain)
        metrics = self.browser.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
        values = {one["name"]: one["value"] for one in metrics}
        return float(values["TaskDuration"])

    def address(self) -> str:
        return self.browser.current_url.partition("#")[2]

    def listed(self) -> list[int]:
        """Numbers of the findings whose rows exist, from top to bottom.

        Read at once, since a list that scrolls puts others into their place.
        """
        rows = "[...document.querySelectorAll('.row')]"
        return list(self.run(f"return {rows}.map((row) => Number(row.dataset.number))"))
