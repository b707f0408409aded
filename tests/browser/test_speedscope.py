"""Our profiles in speedscope itself, and against the schema that it publishes."""

import base64
import json
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from leakline.cli import formats

from .samples import project_report

PACKAGE = "speedscope@1.25.0"
NPM = Path(sys.executable).parent / "npm"
# What speedscope's own command writes for the page to load.
LOADER = "speedscope.loadFileFromBase64({name}, {content})"


@pytest.fixture(scope="session")
def speedscope(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The published page of speedscope, unpacked."""
    folder = tmp_path_factory.mktemp("speedscope")
    words = [str(NPM), "pack", "--silent", "--pack-destination", str(folder), PACKAGE]
    subprocess.run(words, check=True, timeout=300)
    (packed,) = folder.glob("*.tgz")
    with tarfile.open(packed) as archive:
        archive.extractall(folder, filter="data")
    return folder / "package/dist/release"


@pytest.fixture
def profile(tmp_path: Path) -> bytes:
    return formats.render("speedscope", project_report(tmp_path), tmp_path)


def test_profiles_follow_the_published_schema(speedscope: Path, profile: bytes) -> None:
    schema = json.loads((speedscope / "file-format-schema.json").read_text())
    validator = jsonschema.Draft7Validator(schema)
    document: dict[str, Any] = json.loads(profile)
    validator.validate(document)
    document["profiles"][0]["unit"] = "leaks"
    assert not validator.is_valid(document)


@pytest.mark.parametrize("name", ["speedscope", "collapsed"])
def test_speedscope_opens_the_profile(
    name: str, speedscope: Path, tmp_path: Path, browser: webdriver.Chrome
) -> None:
    content = formats.render(name, project_report(tmp_path), tmp_path)
    script = tmp_path / "profile.js"
    encoded = json.dumps(base64.b64encode(content).decode())
    script.write_text(LOADER.format(name=f'"leaks.{name}"', content=encoded))
    browser.get("about:blank")
    browser.get(f"{(speedscope / 'index.html').as_uri()}#localProfilePath={script}")

    def shown(_: object) -> str:
        return browser.find_element(By.TAG_NAME, "body").text

    WebDriverWait(browser, 120).until(lambda driver: "Sandwich" in shown(driver))
    browser.find_element(By.XPATH, "//*[contains(text(), 'Sandwich')]").click()
    WebDriverWait(browser, 120).until(lambda driver: "make_item" in shown(driver))
    assert "main" in shown(browser)
    browser.get_log("browser")  # type: ignore[no-untyped-call]  # its own remarks
    browser.get("about:blank")
