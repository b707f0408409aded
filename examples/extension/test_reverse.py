"""Tests of the extension module; run them with `pytest --leakline`."""

import pytest
from reverse import reverse


@pytest.mark.leak_limit("0 B")
def test_text_is_reversed():
    assert reverse("abc") == "cba"


@pytest.mark.leak_limit("0 B")
def test_palindromes_stay():
    assert reverse("anna") == "anna"


@pytest.mark.leak_limit("1 KB")
def test_a_known_leak_is_tolerated():
    assert reverse("otto") == "otto"
