"""Links between the pages lead somewhere, and the comparison holds measured numbers."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from .pages import PAGES, ROOT

LINK = re.compile(r"\]\(([^)#\s]*)(#[^)\s]*)?\)")


def anchors(page: Path) -> set[str]:
    """The names under which code hosts show the headings of a page."""
    found = set()
    for line in page.read_text().splitlines():
        if line.startswith("#"):
            words = line.lstrip("#").strip().lower()
            kept = re.sub(r"[^\w\- ]", "", words)
            found.add(f"#{kept.replace(' ', '-')}")
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_pages_and_headings(page: Path) -> None:
    for target, anchor in LINK.findall(page.read_text()):
        if target.startswith(("http:", "https:")):
            continue
        file = (page.parent / target).resolve() if target else page
        assert file.exists(), f"{target} in {page}"
        if anchor and file.suffix == ".md":
            assert anchor in anchors(file), f"{target}{anchor} in {page}"


def test_the_comparison_is_filled_from_the_raw_numbers() -> None:
    words = [sys.executable, "-m", "benchmarks.comparison", "--check"]
    subprocess.run(words, check=True, cwd=ROOT)
